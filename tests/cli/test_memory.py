import json
import subprocess
import sys

import numpy as np
import pytest

from commands import run

SERIES = "time,a,b\n" + "".join(
    f"2020-{k:05d},{np.sin(k / 40):.6f},{k % 7}\n" for k in range(12_000)
)


@pytest.fixture
def series(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text(SERIES)
    return path


def test_memory_prints_errors_for_alpha_and_legs(capsys, series):
    code, out, err = run(capsys, "memory", series, "--alpha", "0.9", "--order", "32", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["samples"] == 12_000
    rows = [(row["column"], row["memory"]) for row in found["columns"]]
    assert rows == [("a", "α = 0.9"), ("a", "LegS"), ("b", "α = 0.9"), ("b", "LegS")]
    smooth = found["columns"][0]["error_by_age"]
    assert len(smooth) == 5
    assert all(error is not None for error in smooth.values())
    assert "time" in err
    code, out, _ = run(capsys, "memory", series)
    assert code == 0
    assert "12000 samples" in out
    assert "LegS" in out


def test_memory_errors_equal_a_direct_computation(capsys, series):
    from fractal import theory

    code, out, _ = run(capsys, "memory", series, "--alpha", "0.0", "--order", "16", "--json")
    u = np.array([float(line.split(",")[2]) for line in SERIES.splitlines()[1:]])
    ages = 1 - (np.arange(len(u)) + 0.5) / len(u)
    stored = theory.recall(theory.LegS(), theory.project(theory.LegS(), u, 16), ages)
    expected = np.sqrt(np.mean((stored - u)[ages >= 0.1] ** 2)) / u.std()
    assert code == 0
    (_, row) = json.loads(out)["columns"]
    assert (row["column"], row["memory"]) == ("b", "LegS")
    assert row["error_by_age"]["0.1 … 1"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_memory_draws_the_reconstruction(capsys, series, tmp_path, suffix):
    plot = tmp_path / f"plot{suffix}"
    code, _, err = run(capsys, "memory", series, "--plot", plot)
    assert code == 0
    assert plot.stat().st_size > 1000
    assert str(plot) in err


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("1\n2\n3\n", ["column 1"]),
        ("1;2\n3;4\n", ["column 1", "column 2"]),
        ("x\ty\n1\t2\n3\t4\n", ["x", "y"]),
        ("﻿x,y\r\n1,a\r\n2,b\r\n", ["x"]),
        ('"a, b",c\n1,2\n\n3,4\n', ["a, b", "c"]),
        ("x,\n1,5\n2,6\n", ["x", "column 2"]),
        ("const\n5\n5\n5\n", ["const"]),
        ("2020-01-01,1.5\n2020-01-02,2.5\n", ["column 2"]),
        ("a,a\n1,2\n3,4\n", ["a", "a (2)"]),
    ],
    ids=[
        "one column",
        "semicolons",
        "tabs",
        "BOM and text",
        "quotes and blank",
        "unnamed",
        "flat",
        "dates without heading",
        "same name twice",
    ],
)
def test_memory_reads_what_programs_write(capsys, tmp_path, content, columns):
    path = tmp_path / "file.csv"
    path.write_bytes(content.encode())
    code, out, _ = run(capsys, "memory", path, "--order", "4", "--json")
    assert code == 0
    assert [row["column"] for row in json.loads(out)["columns"]][::2] == columns


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"\n\n  \n", "is empty"),
        (b"a,b\n", "has no rows of data"),
        (b"a,b\n1,2\n", "has 1 row of data"),
        (b"1,2\n", "has 1 row of data"),
        (b"a,b\n1,2\n3,oops\n", "line 3, column 'b': 'oops' is not a number"),
        (b"a,b\n1,2\n3,nan\n", "line 3, column 'b': 'nan' is not a finite number"),
        (b"a,b\n1,2\n3,inf\n", "line 3, column 'b': 'inf' is not a finite number"),
        (b"a,b\n1,2\n3,\n", "line 3, column 'b': no value"),
        (b"oops,2\n3,4\n5,6\n", "line 1, column 'column 1': 'oops' is not a number"),
        (b",2\n3,4\n5,6\n", "line 1, column 'column 1': no value"),
        (b"a,b\n1,2\n3\n", "line 3: 1 columns, but line 1 has 2"),
        (b"a,b\nx,y\nz,w\n", "no column of numbers; its columns are a, b"),
        (b"a\n\xff\xfe\n", "is not a text file in UTF-8"),
        (b"a\n1e200\n2e200\n", "too large to square"),
        (b'a\n"1\n2\n' + b"x" * 200_000, "is not CSV"),
    ],
)
def test_memory_rejects_a_bad_file_in_one_line(capsys, tmp_path, content, complaint):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    code, out, err = run(capsys, "memory", path)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.startswith("fractal: ")
    assert err.count("\n") == 1


def test_a_constant_column_is_recalled_without_error(capsys, tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("x\n" + "0.1\n" * 999)
    _, out, _ = run(capsys, "memory", path, "--json")
    errors = [row["error_by_age"]["0.1 … 1"] for row in json.loads(out)["columns"]]
    assert max(errors) < 1e-9


def test_column_names_are_printed_as_they_are(capsys, tmp_path):
    path = tmp_path / "markup.csv"
    path.write_text("[red]x[/red]\n1\n2\n")
    assert "[red]x[/red]" in run(capsys, "memory", path)[1]


def test_a_series_may_come_through_a_pipe():
    done = subprocess.run(
        [sys.executable, "-m", "fractal.cli", "memory", "/dev/stdin", "--order", "4"],
        input="a\n1\n2\n3\n", capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert "3 samples" in done.stdout
