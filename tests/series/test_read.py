"""Users' files, compared with the readers of aeon, pandas and SciPy."""

import gzip
import sys
import wave

import numpy as np
import pytest

from fractal._errors import UserError
from fractal._series.content import TrainedOn
from fractal._series.read import read_cases, read_records

TS = """#a comment
@problemName Made
@timeStamps false
@missing true
@univariate false
@dimensions 2
@equalLength false
@classLabel true up down
@data
1.5,2,?:4,5,6:up
1,2:3,-4e-1:down
"""


def wrong(path, **options):
    with pytest.raises(UserError) as caught:
        read_cases(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), path.name)


def test_a_ts_file_is_read_as_aeon_reads_it(write):
    aeon = pytest.importorskip("aeon.datasets")
    path = write("made.ts", TS)
    X, y = aeon.load_from_ts_file(str(path))
    found = read_cases(path)
    assert found.labels == y.tolist()
    for ours, theirs in zip(found.series, X, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert found.summary == "2 cases of 2 to 3 steps, 2 channels"


def test_a_regression_target_of_a_ts_file_is_a_number(write):
    text = "@timeStamps false\n@classLabel false\n@targetlabel true\n@data\n1,2:0.5\n3,4:7\n"
    found = read_cases(write("r.ts", text))
    assert found.numeric
    np.testing.assert_array_equal(found.targets(), [0.5, 7])


def test_time_stamps_of_a_ts_file_are_numbers_or_dates(write):
    head = "@timeStamps true\n@classLabel true a\n@data\n"
    found = read_cases(write("t.ts", head + "(0,1.5),(2,?),(5,3):(0,1),(2,2),(5,3):a\n"))
    np.testing.assert_array_equal(found.times[0], [0, 2, 5])
    np.testing.assert_array_equal(found.series[0], [[1.5, np.nan, 3], [1, 2, 3]])
    dated = "(2024-01-01 10:00:00,1),(2024-01-01 10:00:30,2):a\n"
    found = read_cases(write("d.ts", head + dated))
    assert (found.interval, found.dated) == (30, True)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("?:4", "x:4"), "made.ts, line 10, channel 1, value 3: 'x' is not a number"),
        ((":4,5,6:", ":4,5:"), "made.ts, line 10: its channels have 2, 3 values"),
        ((":down\n", ":left\n"), "made.ts, line 11: the label 'left' is not one of @classLabel"),
        (
            ("1,2:3,-4e-1:down", "1,2:down"),
            "made.ts, line 11: 1 channels, but the first case has 2",
        ),
        (("@data\n", ""), "made.ts, line 9: a header line starting with @ is expected"),
        ((TS[TS.index("1.5") :], ""), "made.ts has no cases after @data"),
    ],
)
def test_an_invalid_ts_file_is_named_by_line_and_channel(write, change, line):
    old, new = change
    assert wrong(write("made.ts", TS.replace(old, new))) == line


WIDE = "a,b,c,label\n1.5,2,,up\n1,,-3e2,down\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_wide_table_is_read_as_pandas_reads_it(write, delimiter):
    pandas = pytest.importorskip("pandas")
    path = write("wide.csv", WIDE.replace(",", delimiter))
    table = pandas.read_csv(path, sep=delimiter)
    found = read_cases(path)
    assert found.labels == table["label"].tolist()
    values = table[["a", "b", "c"]].to_numpy()
    np.testing.assert_array_equal(found.series[0], values[:1, :2])  # missing at the end: shorter
    np.testing.assert_array_equal(found.series[1], values[1:])


def test_decimal_commas_are_found_and_reported(write):
    pandas = pytest.importorskip("pandas")
    text = "x;y;class\n1,5;-2;a\n1.234,25;0,5e1;b\n"
    path = write("comma.csv", text)
    table = pandas.read_csv(path, sep=";", decimal=",", thousands=".")
    found = read_cases(path)
    np.testing.assert_array_equal(np.concatenate(found.series), table[["x", "y"]].to_numpy())
    assert "semicolon-separated, a header, decimal commas" in found.summary


def test_the_first_column_is_the_label_in_a_file_without_a_header(write):
    found = read_cases(write("ucr.tsv", "1\t0.5\t0.25\n-1\t2\t3\n"))
    assert found.labels == ["1", "-1"]
    np.testing.assert_array_equal(found.series[1], [[2, 3]])


@pytest.mark.parametrize(
    ("steps", "classes", "labels"),
    [
        (2, "", ["1", "2"]),  # one column more than the model had steps
        (3, "12", None),  # as many: samples, though they could be classes
        (9, "12", ["1", "2"]),  # series of another length: the cells are classes
        (9, "1", None),
    ],
)
def test_the_model_tells_whether_a_file_without_a_header_has_labels(write, steps, classes, labels):
    path = write("ucr.csv", "1,0.5,0.25\n2,0.125,1.5\n")
    found = read_cases(path, trained=TrainedOn(steps, frozenset(classes)), labeled=False)
    assert found.labels == labels
    assert found.series[0].shape == (1, 3 if labels is None else 2)
    assert ("no label" if labels is None else "label in column 'column 1'") in found.summary


def test_a_header_may_count_the_samples(write):
    found = read_cases(write("n.csv", "label,0,1,2\nu,1,2,3\nv,4,5,6\n"))
    assert (found.labels, len(found.series)) == (["u", "v"], 2)


LONG = "id,date,x,y,label\nA,2024-01-01,1,2,u\nA,2024-01-03,3,,u\nB,2024-01-01,5,6,v\n"


def test_a_long_table_becomes_one_case_per_id(write):
    pandas = pytest.importorskip("pandas")
    path = write("long.csv", LONG)
    table = pandas.read_csv(path, parse_dates=["date"])
    found = read_cases(path)
    assert (found.labels, found.channels) == (["u", "v"], ["x", "y"])
    for ours, (_, theirs) in zip(found.series, table.groupby("id"), strict=True):
        np.testing.assert_array_equal(ours, theirs[["x", "y"]].to_numpy().T)
    assert (
        "dates as ISO 8601: one sample per row, id 'id', time 'date', label 'label'"
        in found.summary
    )


def test_irregular_times_are_kept_and_regular_ones_are_not(write):
    path = write("long.csv", LONG.replace("B,", "A,2024-01-04,7,8,u\nB,"))
    np.testing.assert_array_equal(np.diff(read_cases(path).times[0]), [2 * 86400, 86400])
    assert read_cases(write("regular.csv", LONG.replace("B,2024-01-01,5,6,v\n", ""))).times is None


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        ("", {}, "f.csv is empty"),
        ("a,label\n", {}, "f.csv has no rows of data"),
        ("a,b,label\n1,x,u\n2,3,v\n", {}, "f.csv, line 2, column 'b': 'x' is not a number"),
        ("a,b,label\n1,2,u\n3,v\n", {}, "f.csv, line 3: 2 columns, but line 1 has 3"),
        ("a,b,label\n1,2,\n", {}, "f.csv, line 2, column 'label': has no label"),
        ("a,b,label\n,,u\n1,2,v\n", {}, "f.csv, line 2: has no values"),
        ("a,b,label\n1,inf,u\n", {}, "f.csv, line 2, column 'b': 'inf' is not finite"),
        ("a,b\n1,2\n", {}, "f.csv: choose the column of the label with --target: a, b"),
        ("a,b\n1,2\n", {"target": "B"}, "target: f.csv: there is no column 'B': choose one of a, b"),  # noqa: E501
        (LONG.replace("3,,u", "3,,w"), {}, "f.csv, line 3, column 'label': the label 'w' differs from 'u' of the same case"),  # noqa: E501
        (LONG.replace("01-03", "01-01"), {}, "f.csv, line 3, column 'date': the time '2024-01-01' is not later than that of the sample before"),  # noqa: E501
        ("label\nu\n", {}, "f.csv: has no columns of values besides 'label'"),
        (b"\xff\xfe\x00a", {}, "f.csv is not a text file in UTF-8"),
    ],
)  # fmt: skip
def test_an_invalid_table_is_named_by_line_and_column(write, text, options, line):
    assert wrong(write("f.csv", text), **options) == line


def test_an_npz_file_holds_arrays_and_never_objects(tmp_path):
    path = tmp_path / "a.npz"
    X = np.arange(12.0).reshape(2, 2, 3)
    X[1, :, 2] = np.nan
    np.savez(path, X=X, y=["u", "v"])
    found = read_cases(path)
    assert found.labels == ["u", "v"]
    np.testing.assert_array_equal(found.series[0], X[0])
    np.testing.assert_array_equal(found.series[1], X[1, :, :2])
    np.savez(path, X=np.array([[1.0], [2.0, 3.0]], dtype=object), y=[0, 1])
    assert wrong(path).startswith("a.npz: the array 'X' holds Python objects")
    np.savez(path, X=X, y=[1])
    assert wrong(path) == "a.npz: y must have the shape (2,), got (1,)"
    np.savez(path, Z=X)
    assert wrong(path) == "a.npz: has no array X; its arrays: Z"
    path.write_bytes(b"nothing")
    assert wrong(path) == "a.npz is not an .npz file"


def made_wav(path, values, rate, width):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(values.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        integers = values.astype("<i8")
        raw = integers.view(np.uint8).reshape(*values.shape, 8)[..., :width]
        file.writeframes((integers.astype(np.uint8) if width == 1 else raw).tobytes())


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_wav_files_are_read_as_scipy_reads_them(tmp_path, width):
    reader = pytest.importorskip("scipy.io.wavfile")
    rng = np.random.default_rng(0)
    low, high = (0, 256) if width == 1 else (-(2 ** (8 * width - 1)), 2 ** (8 * width - 1))
    for name, steps in (("yes/a.wav", 5), ("no/b.wav", 7)):
        made_wav(tmp_path / "set" / name, rng.integers(low, high, (steps, 2)), 8000, width)
    found = read_cases(tmp_path / "set")
    assert found.labels == ["no", "yes"]
    _, theirs = reader.read(tmp_path / "set" / "no" / "b.wav")
    if width == 1:
        scaled = (theirs.astype(float) - 128) / 128
    else:
        scaled = theirs / 2.0 ** (31 if width == 3 else 8 * width - 1)
    np.testing.assert_array_equal(found.series[0], scaled.T)
    assert found.times is None


def test_recordings_of_different_rates_have_times_in_seconds(tmp_path):
    made_wav(tmp_path / "x" / "a.wav", np.zeros((8, 1)), 8000, 2)
    made_wav(tmp_path / "y" / "b.wav", np.zeros((4, 1)), 4000, 2)
    found = read_cases(tmp_path)
    assert [one[-1] for one in found.times] == [0.001, 0.001]
    (tmp_path / "x" / "c.wav").write_bytes(b"RIFF")
    assert "c.wav is not a WAV file of PCM samples: it is cut off" in wrong(tmp_path)


def test_a_parquet_file_is_read_as_its_csv(write, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    csv = pytest.importorskip("pyarrow.csv")
    path = write("long.csv", LONG)
    parquet.write_table(csv.read_csv(path), tmp_path / "long.parquet")
    ours, theirs = read_cases(tmp_path / "long.parquet"), read_cases(path)
    assert ours.labels == theirs.labels
    for one, two in zip(ours.series, theirs.series, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_parquet_file_without_pyarrow_names_what_is_missing(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = "t.parquet: reading Parquet needs pyarrow: pip install pyarrow"
    assert wrong(write("t.parquet", "x")) == line


HOURS = "date,a,b\n2024-01-01 00:00,1,2\n2024-01-01 01:00,3,4\n2024-01-01 03:00,5,6\n"


def test_series_to_forecast_lie_on_a_grid_whose_gaps_are_missing(write, tmp_path):
    path = tmp_path / "hours.csv.gz"
    path.write_bytes(gzip.compress(HOURS.encode()))
    found = read_records(path)
    (record,) = found.records
    np.testing.assert_array_equal(record.values, [[1, 3, np.nan, 5], [2, 4, np.nan, 6]])
    assert record.grid.labels(4, 2) == ["2024-01-01 04:00:00", "2024-01-01 05:00:00"]
    assert "a step of 1:00:00, 1 missing time filled in" in found.summary


def test_days_and_times_of_day_in_two_columns_are_one_time(write):
    joined = write("one.csv", "when,v\n2006-12-16 23:59,1\n2006-12-17 00:00,2\n")
    text = "Date;Time;v\n16/12/2006;23:59:00;1\n17/12/2006;00:00:00;2\n"
    ours, theirs = (read_records(path).records[0] for path in (write("two.csv", text), joined))
    assert ours.grid == theirs.grid
    np.testing.assert_array_equal(ours.values, theirs.values)
    assert "dates as %d/%m/%Y and hours:minutes" in read_records(write("two.csv", text)).summary


@pytest.mark.parametrize(
    ("days", "next_day"),
    [
        (["2023-11-01", "2023-12-01", "2024-01-01"], "2024-02-01"),
        (["31/01/2024", "29/02/2024", "31/03/2024"], "2024-04-30"),
        (["2023-02-28", "2023-03-28", "2023-04-28"], "2023-05-28"),
        (["2020-01-01", "2021-01-01", "2022-01-01"], "2023-01-01"),
        (["1700000000", "1700000060", "1700000120"], "1700000180"),
        (["0.1", "0.2", "0.3"], "0.4"),
    ],
)
def test_the_next_time_continues_the_grid(write, days, next_day):
    text = "time,v\n" + "".join(f"{day},{i}\n" for i, day in enumerate(days))
    (record,) = read_records(write("m.csv", text)).records
    assert record.values.shape == (1, 3)
    assert record.grid.labels(3, 1) == [next_day]


def test_rows_without_targets_at_the_end_are_the_known_future(write):
    text = "t,v,holiday\n1,5,0\n2,6,1\n3,,0\n4,,1\n"
    (record,) = read_records(write("k.csv", text), covariates=["holiday"]).records
    assert record.values.shape == (1, 2)
    np.testing.assert_array_equal(record.covariates, [[0, 1, 0, 1]])


def test_several_series_are_distinguished_by_their_id(write):
    text = "unique_id,ds,y\nA,1,1\nA,2,2\nB,1,3\nB,2,4\nB,3,5\n"
    records = read_records(write("s.csv", text)).records
    assert [(one.name, one.values.shape[1]) for one in records] == [("A", 2), ("B", 3)]


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        (HOURS.replace("03:00", "02:30"), {}, "f.csv, line 4, column 'date': '2024-01-01 02:30' is not on a regular grid, a step of 1:00:00"),  # noqa: E501
        (HOURS.replace("3,4", "3,x"), {}, "f.csv, line 3, column 'b': 'x' is not a number"),
        (HOURS, {"targets": ["c"]}, "target: f.csv: there is no column 'c': choose one of date, a, b"),  # noqa: E501
        (HOURS, {"covariates": ["a"]}, "covariates: f.csv: covariate 1 is missing at 2024-01-01 02:00:00; it must be known at every time"),  # noqa: E501
        ("day\n2024-01-01\n2024-01-02\n", {}, "f.csv: has no column of numbers; columns: day"),
        ("v\n1\n", {}, "f.csv has 1 sample: at least 2 are needed"),
        ("t,v\n1,2\n2,3\n3,4\n1000000,3\n", {}, "f.csv, line 5, column 't': a gap of 999,997 steps"),  # noqa: E501
    ],
)  # fmt: skip
def test_an_invalid_series_is_named_by_line_and_column(write, text, options, line):
    path = write("f.csv", text)
    with pytest.raises(UserError) as caught:
        read_records(path, **options)
    assert str(caught.value).replace(str(path), "f.csv") == line
