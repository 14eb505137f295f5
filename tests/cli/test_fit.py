"""`fractal fit`, `fractal predict` and `fractal forecast` on small files."""

import csv
import json
import pathlib
import warnings

import numpy as np
import pytest

from fractal._errors import UserError
from fractal._series.content import Cases
from fractal._series.records import Grid, Record, Records
from fractal.cli import main
from fractal.cli.errors import warnings_in_one_line
from fractal.cli.fit import Fit, _check_labels, _class_scores, _regression_scores
from fractal.cli.forecast import Forecast
from fractal.cli.result_folder import check_out, whole_folder, write_run

FILE = pathlib.Path("f.csv")


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_a_fitted_classifier_predicts_the_labels_of_a_file(capsys, tmp_path):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    lines = ["id,label," + ",".join(f"x{i}" for i in range(12))]
    for case in range(30):
        slope = 1 - 2 * (case % 2)
        values = slope * np.arange(12) + rng.normal(size=12)
        label = ("up", "down")[case % 2]
        lines.append(f"case {case},{label}," + ",".join(f"{x:.3f}" for x in values))
    path, out = tmp_path / "cases.csv", tmp_path / "run"
    path.write_text("\n".join(lines))
    code, printed, _ = run(capsys, "fit", path, "--epochs", 2, "--out", out, "--json")
    assert code == 0
    assert json.loads(printed)["test_cases"] == 6
    names = {"config.json", "index.html", "metrics.jsonl", "model.safetensors", "result.json"}
    assert names <= {file.name for file in out.iterdir()}
    code, printed, said = run(capsys, "predict", out, path)
    rows = list(csv.DictReader(printed.splitlines()))
    assert (code, len(rows)) == (0, 30)
    assert all(
        float(row["p(up)"]) + float(row["p(down)"]) == pytest.approx(1, 1e-4) for row in rows
    )
    right = np.mean([row["prediction"] == ("up", "down")[i % 2] for i, row in enumerate(rows)])
    assert f"accuracy: {right:.4g}" in said
    assert [row["case"] for row in rows[:2]] == ["case 0", "case 1"]
    code, _, said = run(capsys, "predict", out, path, "--target", "lable")
    assert code == 2
    assert "--target: " in said
    assert "there is no column 'lable': did you mean label?" in said


def tones(path, labels):
    """Waves whose frequency is the label, one case per row."""
    rows = [f"{label}," + ",".join(f"{x:.4f}" for x in np.sin(label * np.arange(60)))
            for label in labels]  # fmt: skip
    path.write_text("\n".join(["label," + ",".join(f"x{i}" for i in range(60)), *rows]))
    return path


@pytest.mark.parametrize("method", ["auto", "filters"])
def test_few_cases_are_fitted_by_filters_and_predicted_from_the_folder(capsys, tmp_path, method):
    pytest.importorskip("sklearn")
    path, out = tones(tmp_path / "cases.csv", [1, 2] * 10), tmp_path / "run"
    code, printed, said = run(capsys, "fit", path, "--method", method, "--out", out, "--json")
    found = json.loads(printed)
    assert (code, found["estimator"], found["test_accuracy"]) == (0, "FilterBankClassifier", 1.0)
    assert ("method: filters; see --method" in said) == (method == "auto")
    assert "epochs" not in found
    assert "Confusion matrix" in (out / "index.html").read_text()
    code, printed, said = run(capsys, "predict", out, path)
    assert (code, "accuracy: 1" in said) == (0, True)
    assert [row["prediction"] for row in csv.DictReader(printed.splitlines())] == ["1", "2"] * 10


def test_filters_predict_numbers(capsys, tmp_path):
    pytest.importorskip("sklearn")
    path = tones(tmp_path / "cases.csv", np.linspace(0.2, 0.4, 40).round(4))
    out = tmp_path / "run"
    code, printed, _ = run(capsys, "fit", path, "--labels", "numbers", "--out", out, "--json")
    found = json.loads(printed)
    assert (code, found["estimator"]) == (0, "FilterBankRegressor")
    assert found["test_rmse"] < found["mean_target_rmse"] / 3
    code, _, said = run(capsys, "predict", out, path)
    assert (code, "rmse: " in said) == (0, True)


@pytest.mark.parametrize(
    ("cases", "options", "method"),
    [
        (5000, {}, "filters"), (5001, {}, "network"), (10, {"epochs": 3}, "network"),
        (9000, {"method": "filters"}, "filters"), (10, {"method": "network"}, "network"),
    ],
)  # fmt: skip
def test_the_method_depends_on_the_number_of_cases(cases, options, method):
    assert Fit(FILE, **options)._method(cases) == method


def test_epochs_of_filters_are_an_error(capsys, tmp_path):
    path = tones(tmp_path / "cases.csv", [1, 2] * 10)
    code, _, said = run(capsys, "fit", path, "--method", "filters", "--epochs", 3)
    assert code == 2
    assert "--epochs: has no meaning with --method filters" in said


def test_warnings_are_one_line_of_the_command(capsys):
    with warnings_in_one_line():
        warnings.simplefilter("always")
        warnings.warn("training was\ninterrupted", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "fractal: training was interrupted\n"


def cases(labels, **options):
    series = [np.zeros((1, 3)) for _ in labels]
    return Cases(series, labels, None, None, ["value"], "", **options)


class Constant:
    """An estimator with one answer."""

    classes_ = np.array(["a", "b"])

    def predict_proba(self, X, times=None):
        return np.full((len(X), 2), 0.5)

    def predict(self, X, times=None):
        return np.full(len(X), 2.0)


def test_constant_answers_beside_the_scores_are_those_of_the_training_set():
    trained, labels = np.array(["a", "a", "b"]), np.array(["b", "b", "b", "a"])
    scores, _ = _class_scores(Constant(), trained, [np.zeros(3)] * 4, None, labels)
    assert scores["majority_class"] == 0.25  # "a", though "b" is more frequent in the test set
    targets = np.array([4.0, 8.0])
    scores, _ = _regression_scores(
        Constant(), np.array([1.0, 3.0]), [np.zeros(3)] * 2, None, targets
    )
    assert scores["mean_target_rmse"] == pytest.approx(np.sqrt((2**2 + 6**2) / 2))
    assert scores["test_rmse"] == pytest.approx(np.sqrt((2**2 + 6**2) / 2))


@pytest.mark.parametrize(
    ("labels", "numbers", "line"),
    [
        (["a", "c"], False, "test: f.csv: the label 'c' does not occur in the training set"),
        (["1", "x"], True, "f.csv: its labels are not numbers"),
    ],
)
def test_a_test_set_that_cannot_be_scored_is_refused_before_the_training(labels, numbers, line):
    with pytest.raises(UserError, match=f"^{line}"):
        _check_labels(cases(labels), cases(["a", "b"]), numbers, FILE)


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([1, 2] * 3, False),
        ([0, 1], False),
        ([*range(1, 53)] * 2, False),  # PigAirwayPressure of the UCR archive
        ([*range(20, 80)] * 2, True),  # such as ages
        ([*range(1, 53)], True),  # no label repeats
        ([7, 4, 9, 5, 1, 2], True),
        ([0.5, 1.5] * 3, True),
    ],
)
def test_integers_that_repeat_and_are_few_or_numbered_are_classes(capsys, labels, numbers):
    assert Fit(FILE)._are_numbers(cases([str(label) for label in labels])) is numbers
    assert "see --labels" in capsys.readouterr().err
    assert Fit(FILE, labels="numbers")._are_numbers(cases(["1", "2", "1"]))


@pytest.mark.parametrize("command", ["fit", "forecast"])
def test_a_folder_that_cannot_be_written_is_named_before_the_training(capsys, tmp_path, command):
    file = tmp_path / "file"
    file.write_text("x")
    code, _, said = run(capsys, command, tmp_path / "no such.csv", "--out", file / "run")
    assert (code, "--out: cannot write" in said) == (2, True)
    assert list(tmp_path.iterdir()) == [file]


def test_results_are_kept_where_the_folder_was_filled_meanwhile(tmp_path):
    def fill():
        with whole_folder(tmp_path / "run") as place:
            (place / "a").touch()
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "b").touch()

    with pytest.raises(UserError, match=r"cannot write .*; the results are in") as caught:
        fill()
    kept = pathlib.Path(str(caught.value).partition("the results are in ")[2])
    assert [file.name for file in kept.iterdir()] == ["a"]


def test_an_empty_folder_given_by_a_dot_is_written(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    with whole_folder(check_out(pathlib.Path("."), "")) as place:
        (place / "a").touch()
    assert (tmp_path / "run" / "a").exists()


def test_results_are_json_in_utf_8_without_nan(tmp_path):
    write_run(tmp_path, {"a": "é"}, [{"loss": np.inf}], {"r2": np.nan, "l": [1.0, np.nan]}, None)
    found = json.loads((tmp_path / "result.json").read_bytes(), parse_constant=pytest.fail)
    assert (found["r2"], found["l"]) == (None, [1.0, None])
    assert json.loads((tmp_path / "metrics.jsonl").read_text("utf-8")) == {"loss": None}
    assert "é" in (tmp_path / "config.json").read_text("utf-8")


def test_no_forecast_is_tested_on_steps_of_the_training_part():
    grid, none = Grid(0.0, 1.0, "number"), np.zeros((0, 0))
    lengths = (1000, 300, 50)
    found = [Record(str(n), np.zeros((1, n)), none, grid) for n in lengths]
    seen = {}

    class Recorder:
        def fit(self, series, X):
            seen["trained"] = [one.shape[1] for one in series]

        def backtest(self, series, X, start, **_):
            seen["start"] = list(start)
            return {}

        def update(self, series, X):
            seen["later"] = [one.shape[1] for one in series]

    command = Forecast(FILE, horizon=10)
    command._fit(Recorder(), Records(found, ["v"], [], ""))
    assert seen["start"] == seen["trained"] == [900, 270, 40]
    assert [a + b for a, b in zip(seen["trained"], seen["later"], strict=True)] == list(lengths)


def test_a_forecast_continues_the_times_of_the_file(capsys, tmp_path):
    pytest.importorskip("sklearn")
    path, out = tmp_path / "load.csv", tmp_path / "run"
    hours = np.arange(240)
    load = 10 + 3 * np.sin(2 * np.pi * hours / 24)
    pairs = zip(hours, load, strict=True)
    rows = [f"2024-01-{1 + h // 24:02} {h % 24:02}:00;{x:.3f}" for h, x in pairs]
    path.write_text("date;load\n" + "\n".join(rows).replace(".", ","))
    arguments = ("--horizon", 6, "--period", 24, "--steps", 0, "--out", out)
    code, printed, said = run(capsys, "forecast", path, *arguments)
    assert code == 0
    assert "semicolon-separated, a header, decimal commas" in said
    found = list(csv.DictReader(printed.splitlines()))
    assert [row["time"] for row in found[:2]] == ["2024-01-11 00:00:00", "2024-01-11 01:00:00"]
    truth = 10 + 3 * np.sin(2 * np.pi * np.arange(240, 246) / 24)
    np.testing.assert_allclose([float(row["forecast"]) for row in found], truth, atol=0.05)
    assert (out / "forecast.csv").read_text() == printed
    assert json.loads((out / "result.json").read_text())["test_r2"] > 0.99


def test_a_fitted_regressor_predicts_the_numbers_of_a_file(capsys, tmp_path):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    targets = rng.uniform(1, 3, 24)
    series = targets[:, None] * (1 + 0.1 * rng.normal(size=(24, 12)))
    rows = np.column_stack([targets, series])
    lines = [",".join(f"{x:.4f}" for x in row) for row in rows]
    path, new, out = tmp_path / "cases.csv", tmp_path / "new.csv", tmp_path / "run"
    path.write_text("\n".join(lines))  # without a header, the target first
    new.write_text("\n".join(line.partition(",")[2] for line in lines))
    code, printed, said = run(capsys, "fit", path, "--epochs", 3, "--out", out, "--json")
    result = json.loads(printed)
    assert (code, result["estimator"], result["test_cases"]) == (0, "FractalRegressor", 5)
    assert "labels are numbers" in said
    assert json.loads((out / "result.json").read_text())["test_rmse"] == result["test_rmse"]
    code, printed, said = run(capsys, "predict", out, path)
    assert code == 0
    assert "label in column 'column 1'; 24 cases of 12 steps" in said
    found = [float(row["prediction"]) for row in csv.DictReader(printed.splitlines())]
    assert f"rmse: {np.sqrt(np.mean((found - np.round(targets, 4)) ** 2)):.4g}" in said
    code, printed, said = run(capsys, "predict", out, new)
    assert code == 0
    assert "no label; 24 cases of 12 steps" in said
    alone = [float(row["prediction"]) for row in csv.DictReader(printed.splitlines())]
    assert alone == found
