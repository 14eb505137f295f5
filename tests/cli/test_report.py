import pathlib

import numpy as np
import pytest

import commands
import fractal.report.pages.evidence as evidence
from fractal.report.claims import of_ours
from fractal.report.pages.page import Section, Text
from pages import check_self_contained
from run_folders import config, write_run

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """The parts that take long are tested elsewhere."""
    claims = [of_ours("here", "it runs", "1", "1", 1.0, True)]
    monkeypatch.setattr(evidence, "verify", lambda: claims)
    for name in ("slider_section", "figure_section"):
        section = Section(name, name, [Text(name)])
        monkeypatch.setattr(evidence, name, lambda section=section: section)
    monkeypatch.chdir(tmp_path)


def run(capsys, *arguments):
    return commands.run(capsys, "report", *arguments)


def test_the_page_is_written_and_its_path_printed(capsys):
    code, out, err = run(capsys, "--benchmarks", ROOT / "benchmarks", "--out", "new/folder")
    assert (code, out, err) == (0, "new/folder/index.html\n", "")
    assert [path.name for path in pathlib.Path("new/folder").iterdir()] == ["index.html"]
    assert "it runs" in pathlib.Path("new/folder/index.html").read_text()


def test_without_benchmarks_a_line_names_what_is_missing_and_its_command(capsys):
    code, out, err = run(capsys)
    assert (code, out) == (0, "report/index.html\n")
    assert err.startswith("missing in benchmarks: layer.json, step.json, memory.json")
    assert "fractal bench NAME --json" in err
    assert err.count("\n") == 1


def test_a_report_of_runs(capsys, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path / f"fractal-{seed}", config(seed=seed))
    code, out, err = run(capsys, tmp_path / "fractal-0", "fractal-1", "--out", "page")
    assert (code, out, err) == (0, "page/index.html\n", "")
    page = check_self_contained(pathlib.Path("page/index.html").read_text())
    assert "0.500 ± 0.000" in page.texts["td"]


PLUGIN = """
import numpy as np
from fractal import tasks

def load(request):
    x = np.arange(80, dtype=np.float32).reshape(8, 10, 1)
    y = np.array([0, 1] * 4)
    return tasks.from_arrays(x, y, test=(x, y), validation=0.25, name="steps")

tasks.register("steps", load)
"""


def test_a_task_of_the_user_is_loaded_through_a_plugin(capsys, tmp_path):
    pathlib.Path("mine.py").write_text(PLUGIN)
    write_run(
        tmp_path / "run", config(task="steps"),
        logits=np.eye(8, 2), targets=np.array([0, 1] * 4),
    )  # fmt: skip
    assert run(capsys, "run")[0] == 0
    assert "cannot be shown" in pathlib.Path("report/index.html").read_text()
    code, _, err = run(capsys, "run", "--plugin", "mine.py")
    assert (code, err) == (0, "")
    assert "cannot be shown" not in pathlib.Path("report/index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such folder"),
        (["empty"], "empty: no run in it or in its folders (no config.json)"),
        (["file"], "file: is a file, not the folder of a run"),
        (["foreign"], "foreign/config.json: is not the configuration of a run (no text data.task)"),
        (["broken"], "broken/config.json: is not JSON"),
        (["good", "broken"], "broken/config.json: is not JSON"),
        (["good", "--benchmarks", "empty"], "--benchmarks: cannot be combined with runs"),
        (["good", "--plugin", "no.py"], "--plugin: there is no file no.py"),
        (["--plugin", "file.py"], "--plugin: requires at least one run"),
        (["--benchmarks", "nowhere"], "--benchmarks: nowhere: no such folder"),
        (["--benchmarks", ""], "--benchmarks must not be empty"),
        (["--out", ""], "--out must not be empty"),
        ([""], "an argument must not be empty"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(capsys, tmp_path, arguments, message):
    pathlib.Path("empty").mkdir()
    pathlib.Path("file").write_text("")
    write_run(tmp_path / "good", config())
    for name, text in (("foreign", '{"a": 1}'), ("broken", "{")):
        write_run(tmp_path / name, config())
        (tmp_path / name / "config.json").write_text(text)
    code, out, err = run(capsys, *arguments)
    assert (code, out, err) == (2, "", f"fractal: {message}\n")
    assert not pathlib.Path("report").exists()


def test_an_unusable_file_leaves_the_old_page(capsys, tmp_path):
    write_run(tmp_path / "run", config())
    run(capsys, "run")
    before = pathlib.Path("report/index.html").read_bytes()
    (tmp_path / "run" / "predictions.safetensors").write_bytes(b"\0")
    code, out, err = run(capsys, "run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "run/predictions.safetensors: is not a file of predictions" in err
    assert pathlib.Path("report/index.html").read_bytes() == before


def test_a_corrupted_benchmark_is_one_line_and_exit_code_2(capsys):
    pathlib.Path("benchmarks").mkdir()
    pathlib.Path("benchmarks/scan.json").write_text('{"milliseconds": {"x": 1}}')
    code, _, err = run(capsys)
    assert code == 2
    assert err.startswith("fractal: benchmarks/scan.json is not the output of `fractal bench scan")
    assert err.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_line(capsys):
    pathlib.Path("file").write_text("")
    code, _, err = run(capsys, "--out", "file")
    assert code == 2
    assert err.splitlines()[-1].startswith("fractal: --out: file is a file, not a folder")
