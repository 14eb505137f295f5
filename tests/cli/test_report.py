import pathlib

import pytest

import fractal.report.page as pages
from fractal.cli import main
from fractal.report.claims import of_ours
from result_lines import all_lines, write

ROOT = pathlib.Path(__file__).parents[2]
SWEEP = {
    "alphas": (0.0, 0.5),
    "order": 64,
    "ages": [1.0],
    "density": [[1.0], [0.5]],
    "recent": [0.1, 0.3],
    "fractional": [[[1.0], [0.0]]] * 2,
    "normal": [[[1.0], [0.0]]] * 2,
    "bands": ["all"],
    "signals": [],
}


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """What takes long is tested elsewhere."""
    monkeypatch.setattr(pages, "verify", lambda: [of_ours("here", "it runs", "1", "1", 1.0, True)])
    monkeypatch.setattr(pages, "alpha_sweep", lambda: SWEEP)
    monkeypatch.chdir(tmp_path)


def run(capsys, *arguments):
    code = main(["report", *(str(argument) for argument in arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_page_is_written_and_its_path_printed(capsys, tmp_path):
    write(tmp_path / "results", all_lines())
    code, out, err = run(capsys, "--benchmarks", ROOT / "benchmarks", "--out", "new/folder")
    assert (code, out, err) == (0, "new/folder/index.html\n", "")
    assert [path.name for path in pathlib.Path("new/folder").iterdir()] == ["index.html"]
    assert "it runs" in pathlib.Path("new/folder/index.html").read_text()


def test_without_results_a_line_says_what_is_missing_and_what_makes_it(capsys):
    code, out, err = run(capsys)
    assert (code, out) == (0, "report/index.html\n")
    results, benchmarks = err.splitlines()
    assert results.startswith("missing in results: recall.jsonl, initialization.jsonl")
    assert "python -m experiments.NAME" in results
    assert benchmarks.startswith("missing in benchmarks: layer.json, memory.json")
    assert "fractal bench NAME --json" in benchmarks


@pytest.mark.parametrize("option", ["--results", "--benchmarks"])
def test_a_folder_that_is_not_there_is_one_line_and_writes_nothing(capsys, option):
    code, out, err = run(capsys, option, "nowhere")
    assert (code, out) == (2, "")
    assert err == f"fractal: {option} nowhere: there is no such folder\n"
    assert not pathlib.Path("report").exists()


def test_a_null_number_of_parameters_is_a_gap_and_no_traceback(capsys, tmp_path):
    lines = all_lines()
    lines["table"][0]["parameters"] = None
    write(tmp_path / "results", lines)
    assert run(capsys)[0] == 0


def test_a_damaged_line_is_one_line_and_exit_code_2_and_the_old_page_stays(capsys, tmp_path):
    run(capsys)
    before = pathlib.Path("report/index.html").read_bytes()
    write(tmp_path / "results", all_lines())
    with open("results/clock.jsonl", "a") as file:
        file.write('{"task": "smn\n')
    code, out, err = run(capsys)
    assert (code, out) == (2, "")
    assert err == "fractal: results/clock.jsonl, line 5: is not JSON; mend or remove the line\n"
    assert pathlib.Path("report/index.html").read_bytes() == before


def test_a_damaged_benchmark_is_one_line_and_exit_code_2(capsys):
    pathlib.Path("benchmarks").mkdir()
    pathlib.Path("benchmarks/scan.json").write_text('{"milliseconds": {"x": 1}}')
    code, _, err = run(capsys)
    assert code == 2
    assert err.startswith("fractal: benchmarks/scan.json is not what `fractal bench scan --json`")
    assert err.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_line(capsys):
    pathlib.Path("file").write_text("")
    code, _, err = run(capsys, "--out", "file")
    assert code == 2
    assert err.splitlines()[-1].startswith("fractal: cannot write file/index.html: ")


def test_names_that_utf8_cannot_hold_are_replaced(capsys, tmp_path):
    lines = all_lines()
    lines["table"][0]["model"] = "\ud800"
    write(tmp_path / "results", {"table": lines["table"]})
    code, _, _ = run(capsys)
    assert code == 0
    assert "?" in pathlib.Path("report/index.html").read_text()
