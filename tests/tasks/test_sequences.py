import os
import subprocess
import sys

import numpy as np
import pytest

from fractal.tasks import DataError
from fractal.tasks._folders import cache_folder, staged
from fractal.tasks._sequences import Built, prepared


def build(*lengths, dtype=np.uint8):
    rows = [((np.full(length, i, dtype),), i) for i, length in enumerate(lengths)]
    return lambda: Built(("a", "b"), {"train": iter(rows)})


def test_what_is_built_is_mapped_back_exactly(cache):
    rows = [
        ((np.arange(5, dtype=np.uint16), np.array([60_000], np.uint16)), 1),
        ((np.zeros(0, np.uint16), np.ones(3, np.uint16)), 0),
    ]
    made = prepared("pairs", {"source": "x"}, lambda: Built(("é", "\n"), {"all": iter(rows)}))
    assert made.vocabulary == ("é", "\n")
    sequences = made.parts["all"]
    assert sequences.values.tolist() == [0, 1, 2, 3, 4, 60_000, 1, 1, 1]
    assert sequences.lengths.tolist() == [[5, 1], [0, 3]]
    assert sequences.labels.tolist() == [1, 0]
    assert isinstance(sequences.values, np.memmap)


def test_the_same_source_is_built_once_and_rebuilt_for_another(cache):
    prepared("t", {"source": "x"}, build(3))
    assert len(prepared("t", {"source": "x"}, build(3, 4)).parts["train"]) == 1
    assert len(prepared("t", {"source": "y"}, build(3, 4)).parts["train"]) == 2
    assert len(prepared("t", {"source": "x", "length": 9}, build(1, 1, 1)).parts["train"]) == 3


@pytest.mark.parametrize(
    "name", ["about.json", "train.values", "train.offsets.npy", "train.labels.npy"]
)
@pytest.mark.parametrize("corruption", ["cut", "missing", "garbage"])
def test_a_corrupted_cache_is_named(cache, name, corruption):
    prepared("t", {}, build(30, 40))
    (path,) = cache.rglob(name)
    if corruption == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif corruption == "missing":
        path.unlink()
    else:
        path.write_bytes(b"\x93NUMPY nonsense"[: path.stat().st_size])
    with pytest.raises(DataError, match="corrupted: remove it"):
        prepared("t", {}, build(30, 40))


def test_a_failure_while_building_leaves_nothing(cache):
    def broken():
        yield (np.zeros(5, np.uint8),), 1
        raise DataError("line 2 is wrong")

    with pytest.raises(DataError, match="line 2"):
        prepared("t", {}, lambda: Built((), {"train": broken()}))
    assert list((cache / "arrays").iterdir()) == []


def test_two_processes_that_build_the_same_cache_do_not_conflict(cache):
    with staged(cache / "folder", replaceable=True) as one:
        (one / "a").write_text("first")
        with staged(cache / "folder", replaceable=True) as two:
            (two / "a").write_text("second")
    assert (cache / "folder" / "a").read_text() == "second"
    assert [path.name for path in cache.iterdir()] == ["folder"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(DataError, match=r"cannot write .*file/folder: "),
        staged(tmp_path / "file" / "folder"),
    ):
        pass


FULL_DISK = """
import pathlib, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from fractal.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_while_writing_is_one_line_and_leaves_nothing(tmp_path):
    """No file may grow beyond 20 kB: the system refuses to write, as on a full disk."""
    command = [sys.executable, "-c", FULL_DISK, "data", "listops", "--preset", "mini"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), "--workers", "1"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("fractal: cannot write ")
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_the_environment_names_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("FRACTAL_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "fractal"
