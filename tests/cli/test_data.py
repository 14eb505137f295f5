import json
import pathlib
import sys

import pytest
from PIL import Image

from commands import check_mistake, run
from fractal import tasks
from fractal._cores import cores
from fractal.cli import main
from fractal.tasks import _registry, smnist


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path / "cache"))


def test_listops_is_written_to_the_printed_folder(capsys, tmp_path):
    command = ("data", "listops", "--out", tmp_path, "--preset", "mini", "--count", 100)
    code, out, _ = run(capsys, *command, "--workers", 1)
    assert code == 0
    assert out.strip() == str(tmp_path / "listops-1000")
    assert len((tmp_path / "listops-1000" / "basic_test.tsv").read_text().splitlines()) == 3
    code, _, err = run(capsys, *command)
    assert code == 2
    assert "already exists" in err


@pytest.mark.parametrize(
    ("name", "size"),
    [("pathfinder", 32), pytest.param("pathx", 128, marks=pytest.mark.slow)],
)
def test_images_are_drawn_with_a_contact_sheet(capsys, tmp_path, name, size):
    sheet = tmp_path / "sheet.png"
    code, out, err = run(
        capsys, "data", name, "--out", tmp_path, "--count", 10, "--workers", 1, "--preview", sheet
    )
    assert code == 0
    assert out.strip() == str(tmp_path / f"pathfinder{size}" / "curv_contour_length_14")
    assert f"wrote {sheet}" in err
    with Image.open(sheet) as image:
        assert image.width > 800


def test_unbiased_images_are_recorded_as_such(capsys, tmp_path):
    flags = ("--count", 10, "--workers", 1, "--unbiased")
    code, out, _ = run(capsys, "data", "pathfinder", "--out", tmp_path, *flags)
    assert code == 0
    record = json.loads((pathlib.Path(out.strip()) / "generator.json").read_text())
    assert record["variant"] == "unbiased"


def test_generated_pairs_are_written_to_the_printed_folder(capsys, tmp_path):
    code, out, _ = run(capsys, "data", "retrieval", "--out", tmp_path, "--count", 20)
    assert code == 0
    assert len(list((tmp_path / "tsv_data").iterdir())) == 3
    assert out.strip() == str(tmp_path / "tsv_data")


def test_fetched_data_is_checked_and_counted(capsys, tmp_path, monkeypatch):
    folder = tmp_path / "fetched"

    def fetch(self, source):
        assert source == "auto"
        return folder

    monkeypatch.setattr(type(smnist.SOURCES), "fetch", fetch)
    monkeypatch.setitem(
        _registry._ENTRIES, "smnist", _registry._Entry(smnist.load, smnist.SOURCES.fetch)
    )
    code, _, err = run(capsys, "data", "smnist")
    assert code == 2
    assert "is not a folder" in err
    folder.mkdir()
    for part, count in (("train", 20), ("t10k", 5)):
        images = bytes([0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(count * 784)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        labels = bytes([0, 0, 8, 1, 0, 0, 0, count]) + bytes(count)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)
    code, out, _ = run(capsys, "data", "smnist", "--json")
    assert code == 0
    assert json.loads(out)["examples"] == {"train": 18, "validation": 2, "test": 5}
    assert "18 train, 2 validation, 5 test, length 784" in run(capsys, "data", "smnist")[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("data",), "listops"),
        (("data", "listopps", "--out", "x"), "listopps"),
        (("data", "listops"), "--out"),
        (
            ("data", "listops", "--out", "x", "--count", "7"),
            "count must be an integer of at least 50",
        ),
        (
            ("data", "listops", "--out", "x", "--count", "-1"),
            "count must be an integer of at least 50",
        ),
        (("data", "listops", "--out", "x", "--count", "1.5"), "--count"),
        (("data", "listops", "--out", "x", "--count", "1" + "0" * 15), "need about 6.6e+03 PB"),
        (
            ("data", "listops", "--out", "x", "--workers", "0"),
            "workers must be an integer of at least 1",
        ),
        (
            ("data", "listops", "--out", "x", "--workers", "100000"),
            f"at most {4 * len(cores())}, 4 per core",
        ),
        (
            ("data", "listops", "--out", "x", "--seed", "-1"),
            "seed must be an integer of at least 0",
        ),
        (
            ("data", "listops", "--out", "x", "--seed", str(2**32)),
            "seed must be at most 4294967295",
        ),
        (
            ("data", "pathfinder", "--out", "x", "--count", "-5"),
            "count must be an integer of at least 10",
        ),
        (("data", "pathfinder", "--out", "x", "--count", "1" + "0" * 15), "free"),
        (("data", "pathfinder", "--out", "x", "--size", "33"), "33"),
        (("data", "pathfinder", "--out", "x", "--preview", "x.txt"), "must end in .png"),
        (("data", "pathfinder", "--out", "x", "--preview", "a/x.png"), "a is not a folder"),
        (
            ("data", "pathfinder", "--out", "x", "--seed", "-1"),
            "seed must be an integer of at least 0",
        ),
        (("data", "pathfinder", "--out", "x", "--workers", "99999"), "workers must be at most"),
        (("data", "image", "--out", "x"), "--out"),
        (("data", "text", "--source", "ftp"), "ftp"),
        (("data", "text", "--source", "registry"), "registry"),
        (
            ("data", "retrieval", "--out", "x", "--count", "3"),
            "count must be an integer of at least 10",
        ),
        (("data", "retrieval", "--out", "x", "--count", "1" + "0" * 15), "count: 1000000000000000"),
        (
            ("data", "retrieval", "--out", "x", "--seed", "-1"),
            "seed must be an integer of at least 0",
        ),
    ],
)
def test_a_users_mistake_is_one_line_and_writes_nothing(
    capsys, tmp_path, monkeypatch, arguments, complaint
):
    monkeypatch.chdir(tmp_path)
    check_mistake(capsys, *arguments, complaint=complaint)


@pytest.mark.parametrize(
    "task", ["listops", "pathfinder", "pathx", "retrieval", "image", "text", "smnist", "psmnist"]
)
def test_help_fits_a_screen_and_shows_an_example(capsys, task):
    with pytest.raises(SystemExit):
        main(["data", task, "--help"])
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 50
    assert "Example: fractal data" in out


PLUGIN = """
import pathlib
import numpy as np
from fractal import tasks
from fractal.train import register_task

def load(request):
    return tasks.from_arrays(list(np.zeros((30, 5, 1))), [0, 1] * 15, name="mine-too")

def fetch(source):
    print("source", source)
    return pathlib.Path("somewhere")

register_task("mine-too", load, fetcher=fetch)
"""


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_data_of_a_plugins_task_is_fetched(capsys, tmp_path, monkeypatch, place):
    monkeypatch.setattr(_registry, "_ENTRIES", dict(_registry._ENTRIES))
    before = set(sys.modules)
    (tmp_path / "mine.py").write_text(PLUGIN)
    words = ["mine-too", "--source", "official"]
    words[place:place] = ["--plugin", str(tmp_path / "mine.py")]
    code, out, err = run(capsys, "data", *words)
    assert (code, err) == (0, "")
    assert out == "source official\nsomewhere: 24 train, 3 validation, 3 test, length 5\n"
    assert "mine-too" in tasks.fetchable()
    for name in set(sys.modules) - before:
        if name.startswith("fractal_plugin_"):
            del sys.modules[name]


def test_a_plugin_needs_a_name(capsys):
    assert run(capsys, "data", "--plugin")[2] == "fractal: --plugin: needs a value\n"
