"""Conventions of text tables: separators, headers, decimal marks, indices. Compared with pandas."""

import gzip

import numpy as np
import pytest

from fractal._errors import UserError
from fractal._series.columns import make_column
from fractal._series.read import read_cases, read_records
from fractal._series.table import _without_index, read_csv


def values(found):
    return np.concatenate(found.series)


def test_a_point_between_thousands_is_no_decimal_point_in_a_file_with_decimal_commas(write):
    pandas = pytest.importorskip("pandas")
    path = write("comma.csv", "x;y;class\n1.234;0,5;a\n1.234,25;1.234.567;b\n")
    table = pandas.read_csv(path, sep=";", decimal=",", thousands=".")
    np.testing.assert_array_equal(values(read_cases(path)), table[["x", "y"]].to_numpy())


def test_a_leading_zero_is_not_before_thousands(write):
    with pytest.raises(UserError, match=r"line 2, column 'y': '0,5' is not a number"):
        read_cases(write("both.csv", "x;y;class\n0.125;0,5;a\n0.250;2;b\n"))


def test_targets_with_decimal_commas_are_numbers(write):
    found = read_cases(write("r.csv", "x;target\n1,5;2,25\n2,5;1.234,5\n"))
    np.testing.assert_array_equal(found.targets(), [2.25, 1234.5])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,5;0,25\n1,5;2,5\n", [[0.5, 0.25], [1.5, 2.5]]),
        ('"0,5","0,25"\n"1,5","2,75"\n', [[0.5, 0.25], [1.5, 2.75]]),
        ("1;2\n" * 150 + "0,5;3\n", [[1, 2]] * 150 + [[0.5, 3]]),
    ],
)
def test_decimal_commas_are_found_without_header_in_quotes_and_late_in_the_file(
    write, text, expected
):
    table = read_csv(write("d.csv", text))
    np.testing.assert_array_equal(table.numbers(table.columns).T, expected)


def test_quoted_thousands_are_not_read_as_fractions(write):
    table = read_csv(write("us.csv", 'x,y\n"1,234",5\n"2,345",6\n'))
    assert [column.kind for column in table.columns] == ["text", "number"]


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_rows_longer_than_a_cell_may_be_are_separated_all_the_same(write, separator):
    row = separator.join(f"{x:.6f}" for x in np.linspace(0, 1, 20_000))
    found = read_cases(write("long.csv", f"1{separator}{row}\n2{separator}{row}\n"))
    assert [one.shape for one in found.series] == [(1, 20_000)] * 2


def test_numbers_separated_by_spaces_are_a_table(write):
    text = "  1.0000000e+00  5.0e-01 -2.5e-01\n  2.0000000e+00  NaN 3.0e+00\n"
    found = read_cases(write("ucr.txt", text))
    assert found.labels == ["1", "2"]
    np.testing.assert_array_equal(values(found), [[0.5, -0.25], [np.nan, 3]])
    assert "space-separated" in found.summary


def test_text_with_spaces_is_one_column(write):
    assert read_csv(write("t.csv", "two words\nhere too\n")).names == ["two words"]
    assert len(read_csv(write("t.csv", "time\n2024-01-01 10:00\n2024-01-01 11:00\n")).columns) == 1


def test_long_cells_are_cut_in_messages(write):
    with pytest.raises(UserError) as caught:
        read_cases(write("f.csv", f"a,b,label\n1,{'x' * 30_000},u\n2,3,v\n"))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "header",
    ["label,0.0,0.1,0.2", "label,1990,1991,1992", "label,400.1,400.9,402", "label,-1,-0.5,0"],
)
def test_numbers_next_to_a_name_are_a_header(write, header):
    found = read_cases(write("n.csv", f"{header}\nu,1,2,2\nv,4,5,6\n"))
    assert (found.labels, values(found).tolist()) == (["u", "v"], [[1, 2, 2], [4, 5, 6]])


def test_a_first_case_with_increasing_values_is_no_header(write):
    found = read_cases(write("n.csv", "up,0.5,1.0,1.5\ndown,3,2,1\nup,1,2,4\n"))
    assert found.labels == ["up", "down", "up"]


FRAME = {"label": ["u", "v", "w"], "x": [1.5, 2, 3], "z": [4.0, 5, 7]}


def test_the_index_that_pandas_writes_is_neither_sample_nor_channel(write, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame, path = pandas.DataFrame(FRAME), tmp_path / "frame.csv"
    for index in ([0, 1, 2], [7, 3, 5]):
        frame.set_index(np.array(index)).to_csv(path)
        found = read_cases(path)
        np.testing.assert_array_equal(values(found), frame[["x", "z"]].to_numpy())
        assert "without the index in 'column 1'" in found.summary
    assert read_records(path).channels == ["x", "z"]
    pandas.read_csv(path).to_csv(path)  # a second index
    np.testing.assert_array_equal(values(read_cases(path)), frame[["x", "z"]].to_numpy())
    pandas.DataFrame(frame[["x", "z"]].to_numpy()).assign(label=list("uvw")).to_csv(path)
    np.testing.assert_array_equal(values(read_cases(path)), frame[["x", "z"]].to_numpy())


def test_an_unnamed_column_of_dates_or_repeated_numbers_is_kept(write):
    dates = read_records(write("d.csv", ",x\n2024-01-01,1\n2024-01-02,2\n"))
    assert dates.records[0].grid.labels(2, 1) == ["2024-01-03"]
    assert read_csv(write("r.csv", ",x\n1,0.5\n2,0.5\n1,0.5\n")).names == ["column 1", "x"]


def test_the_index_column_of_parquet_is_left_out_wherever_it_is():
    columns = [
        make_column(name, cells, str)
        for name, cells in (("x", ["1", "2"]), ("__index_level_0__", ["4", "9"]))
    ]
    kept, notes = _without_index(["x", "__index_level_0__"], columns)
    assert [column.name for column in kept] == ["x"]
    assert notes == ["without the index in '__index_level_0__'"]


def test_a_damaged_gzip_file_is_one_line(tmp_path):
    path = tmp_path / "d.csv.gz"
    data = bytearray(gzip.compress(b"a,b,label\n" + b"1,2,u\n" * 100))
    data[15:25] = b"\xff" * 10
    path.write_bytes(data)
    with pytest.raises(UserError, match="is not a gzip file, or damaged"):
        read_cases(path)


def test_a_gzip_file_is_unpacked_only_as_far_as_memory_reaches(tmp_path, monkeypatch):
    path = tmp_path / "d.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 100_000))
    monkeypatch.setattr("fractal._series.table.available_bytes", lambda: 12_000.0)
    with pytest.raises(UserError, match=r"too large: above 1,000 bytes unpacked"):
        read_cases(path)
