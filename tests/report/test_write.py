"""`fractal.report.write_report`, the function behind `fractal report`."""

import pathlib

import pytest

from fractal.report import write_report
from pages import check_self_contained
from run_folders import config, write_run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_run_may_be_given_alone_or_in_a_list():
    write_run(pathlib.Path("run"), config())
    alone, listed = write_report("run", "alone"), write_report([pathlib.Path("run")], "listed")
    assert (alone, listed) == (pathlib.Path("alone/index.html"), pathlib.Path("listed/index.html"))
    pages = [check_self_contained(path.read_text()) for path in (alone, listed)]
    assert "0.500" in pages[0].texts["td"]
    assert pages[0].texts["td"] == pages[1].texts["td"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": ""}, "runs must be a path, neither empty"),
        ({"runs": "nowhere"}, "nowhere: no such folder"),
        ({"runs": "run", "benchmarks": "run"}, "benchmarks: cannot be combined with runs"),
        ({"runs": "run", "out": "file"}, "out: file is a file, not a folder"),
        ({"data": "run"}, "data: requires at least one run"),
        ({"benchmarks": "nowhere"}, "benchmarks: nowhere: no such folder"),
    ],
)
def test_an_invalid_argument_is_a_value_error_that_names_it_and_writes_nothing(arguments, message):
    write_run(pathlib.Path("run"), config())
    pathlib.Path("file").write_text("")
    with pytest.raises(ValueError, match=message):
        write_report(**arguments)
    assert sorted(path.name for path in pathlib.Path().iterdir()) == ["file", "run"]
