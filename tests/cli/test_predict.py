"""`fractal predict` on files that differ from the training set in rate, columns or labels."""

import csv
import pathlib
import wave

import numpy as np
import pytest

from fractal._errors import UserError
from fractal._files import write_tensors
from fractal._series.content import Cases, TrainedOn
from fractal._series.read import read_cases
from fractal.cli import main
from fractal.cli.case_inputs import arrays_of, naming_file, read_trained, trained_on

FILE = pathlib.Path("f.csv")
STEPS, CASES = 12, 6


def long_table(times, columns=("x", "y"), label=lambda case: f"class {case % 2}"):
    """Cases of two channels, with the time of each sample and a label."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(CASES, STEPS, 2)).round(3) + np.arange(CASES)[:, None, None] % 2
    lines = [",".join(("subject", "when", *columns, "quality"))]
    for case in range(CASES):
        for step, time in enumerate(times):
            cells = [str(values[case, step, "xy".index(name)]) for name in columns]
            lines.append(",".join((f"c{case}", str(time), *cells, label(case))))
    return "\n".join(lines), values.transpose(0, 2, 1)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A classifier fitted to hourly samples."""
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("model")
    text, _ = long_table([f"2024-01-01 {hour:02}:00" for hour in range(STEPS)])
    (folder / "train.csv").write_text(text)
    columns = ("--target", "quality", "--time", "when", "--id", "subject")
    options = (*columns, "--epochs", "1", "--out", folder / "run")
    assert main(["fit", str(folder / "train.csv"), *map(str, options)]) == 0
    return folder / "run"


def predicted(capsys, model, path, text, *options):
    path.write_text(text)
    assert main(["predict", str(model), str(path), *options]) == 0
    printed, said = capsys.readouterr()
    rows = list(csv.DictReader(printed.splitlines()))
    return np.array([[float(row["p(class 0)"]), float(row["p(class 1)"])] for row in rows]), said


def test_channels_in_another_order_give_the_same_predictions(capsys, model, tmp_path):
    hours = [f"2024-01-01 {hour:02}:00" for hour in range(STEPS)]
    ours, said = predicted(capsys, model, tmp_path / "a.csv", long_table(hours)[0])
    assert "accuracy: " in said  # the column of the training set
    swapped, _ = predicted(capsys, model, tmp_path / "b.csv", long_table(hours, ("y", "x"))[0])
    np.testing.assert_array_equal(ours, swapped)
    blank = long_table(hours, label=lambda case: "")[0]
    unlabeled, said = predicted(capsys, model, tmp_path / "c.csv", blank)
    np.testing.assert_array_equal(ours, unlabeled)
    assert "accuracy" not in said


def test_times_are_in_units_of_the_training_set(capsys, model, tmp_path):
    from fractal.estimators import FractalClassifier

    estimator = FractalClassifier.load(model / "model.safetensors")
    minutes = [f"2024-01-01 {m // 60:02}:{m % 60:02}" for m in range(0, 30 * STEPS, 30)]
    gap = [f"2024-01-01 {hour + (hour > 3):02}:00" for hour in range(STEPS)]
    for times, hours in (
        (minutes, np.arange(STEPS) / 2),
        (gap, np.arange(STEPS) + (np.arange(STEPS) > 3)),
    ):
        text, values = long_table(times)
        found, _ = predicted(capsys, model, tmp_path / "t.csv", text)
        expected = estimator.predict_proba(list(values), times=hours)
        np.testing.assert_allclose(found, expected, atol=2e-6)
    with pytest.raises(AssertionError):  # the times matter
        np.testing.assert_allclose(found, estimator.predict_proba(list(values)), atol=2e-6)


def test_what_a_model_was_fitted_to_is_in_its_file(model):
    kind, trained = read_trained(model / "model.safetensors")
    assert kind == "FractalClassifier"
    classes = frozenset({"class 0", "class 1"})
    columns = ("subject", "when")
    assert trained == TrainedOn(STEPS, classes, "quality", ("x", "y"), 3600.0, True, *columns)


def cases(times=None, **options):
    series = [np.zeros((1, 4))] * 2
    return Cases(series, ["a", "b"], None, times, ["value"], "", **options)


@pytest.mark.parametrize(
    ("unit", "interval", "expected"),
    [
        (3600.0, 3600.0, None),
        (3600.0, 1800.0, [0, 0.5, 1, 1.5]),
        (None, 1800.0, None),  # the model has no times
        (3600.0, None, None),  # nor has the file
    ],
)
def test_regular_samples_have_times_only_at_another_rate(unit, interval, expected):
    trained = TrainedOn(4, frozenset(), unit=unit)
    _, times = arrays_of(cases(interval=interval), trained, FILE)
    if expected is None:
        assert times is None
    else:
        np.testing.assert_allclose(times, [expected] * 2)


def test_irregular_times_are_relative_to_the_training_set_or_else_to_the_file():
    irregular = cases([np.array([5.0, 7, 9, 13])] * 2)
    for unit, expected in ((4.0, [0, 0.5, 1, 2]), (None, [0, 1, 2, 4])):
        _, times = arrays_of(irregular, TrainedOn(4, frozenset(), unit=unit), FILE)
        np.testing.assert_array_equal(times[0], expected)
    assert trained_on(irregular).unit == 2
    with pytest.raises(UserError, match="its times are numbers, but the model was fitted to dates"):
        arrays_of(irregular, TrainedOn(4, frozenset(), unit=4.0, dated=True), FILE)


def test_a_model_with_times_gets_those_of_regular_samples_too():
    trained = trained_on(cases([np.array([5.0, 7, 9, 13])] * 2))
    assert trained.irregular
    for interval in (2.0, None):
        _, times = arrays_of(cases(interval=interval), trained, FILE)
        np.testing.assert_array_equal(times[0], np.arange(len(times[0])))


def test_recordings_at_twice_the_rate_have_half_the_durations(tmp_path):
    for rate in (8000, 16000):
        (tmp_path / str(rate) / "a").mkdir(parents=True)
        with wave.open(str(tmp_path / str(rate) / "a" / "r.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(bytes(16))
    trained = trained_on(read_cases(tmp_path / "8000"))
    assert arrays_of(read_cases(tmp_path / "8000"), trained, FILE)[1] is None
    _, times = arrays_of(read_cases(tmp_path / "16000"), trained, FILE)
    np.testing.assert_allclose(times[0], np.arange(8) / 2)


def test_errors_of_estimators_name_the_file_and_the_case():
    with pytest.raises(UserError, match=r"^f.csv, case 4: the series must not contain"), \
            naming_file(FILE):  # fmt: skip
        raise UserError("must not contain infinite values", argument="X[3]")
    with pytest.raises(UserError, match=r"^f.csv: the times must be"), naming_file(FILE):
        raise UserError("must be finite", argument="times")


def test_a_column_of_text_is_not_scored_against_numbers(capsys, tmp_path):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 5))
    rows = [",".join(f"{x:.3f}" for x in row) for row in values]
    train, new = tmp_path / "train.csv", tmp_path / "new.csv"
    train.write_text("size,a,b,c,d\n" + "\n".join(rows))
    fit = ("fit", train, "--target", "size", "--epochs", 1, "--out", tmp_path / "run")
    assert main([str(one) for one in fit]) == 0
    lines = [f"{i}.wav,{row.partition(',')[2]}" for i, row in enumerate(rows)]
    new.write_text("file,a,b,c,d\n" + "\n".join(lines))
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "run"), str(new)]) == 0
    printed, said = capsys.readouterr()
    assert len(printed.splitlines()) == 13
    assert "rmse" not in said
    assert "without the text in 'file'" in said


@pytest.mark.parametrize(
    "header",
    [
        {"estimator": "[" * 100_000},
        {"estimator": '{"class": "FilterBankRegressor", "fitted": {"n_features_in": Infinity}}'},
        {"estimator": '{"class": "FilterBankRegressor", "fitted": {"n_features_in": 3}}',
         "series": "[]"},
        {"estimator": '{"class": "FilterBankRegressor", "fitted": [3]}'},
    ],
)  # fmt: skip
def test_a_malformed_header_is_one_line(header, tmp_path):
    path = tmp_path / "model.safetensors"
    write_tensors(path, {}, header)
    with pytest.raises(UserError, match="is not a file that fractal fit has written"):
        read_trained(path)


def test_a_model_of_several_numbers_is_for_python(capsys, tmp_path):
    estimators = pytest.importorskip("fractal.estimators")
    X = np.sin(np.linspace(0.2, 0.6, 12)[:, None] * np.arange(30))
    model = estimators.FilterBankRegressor(4, random_state=0).fit(X, X[:, :2])
    model.save(tmp_path / "model.safetensors")
    np.savez(tmp_path / "cases.npz", X=X)
    code = main(["predict", str(tmp_path / "model.safetensors"), str(tmp_path / "cases.npz")])
    assert code == 2
    assert "MODEL: predicts 2 numbers per case: use it in Python" in capsys.readouterr().err
