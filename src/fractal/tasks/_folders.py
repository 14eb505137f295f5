"""The cache, and folders that are written atomically."""

import contextlib
import contextvars
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator

from .._signals import deferred_signals
from ._errors import DataError

_READ_ONLY = contextvars.ContextVar("read_only", default=False)


@contextlib.contextmanager
def read_only_cache() -> Iterator[None]:
    """Within this block data is neither generated nor prepared: `DataError` if it must be."""
    before = _READ_ONLY.set(True)
    try:
        yield
    finally:
        _READ_ONLY.reset(before)


def cache_folder() -> pathlib.Path:
    """The folder of downloaded, generated and prepared data; `FRACTAL_DATA` overrides it."""
    if chosen := os.environ.get("FRACTAL_DATA"):
        return pathlib.Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "fractal"


@contextlib.contextmanager
def staged(folder: pathlib.Path, replaceable: bool = False) -> Iterator[pathlib.Path]:
    """A new folder to write into, which is renamed to `folder` at the end.

    On an error or an interruption it is removed. Several processes may write a `replaceable`
    folder at once, with the same contents: the first one stays.
    """
    if _READ_ONLY.get():
        raise DataError(f"its data is not in the cache ({folder.name})")
    temporary = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with deferred_signals():
            temporary = pathlib.Path(
                tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent)
            )
        temporary.chmod(0o755)
        yield temporary
        try:
            os.rename(temporary, folder)
        except OSError:
            if not (replaceable and folder.is_dir()):
                raise
    except OSError as error:
        raise DataError(f"cannot write {folder}: {error.strerror or error}") from None
    finally:
        with deferred_signals():
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)


def check_new(folder: pathlib.Path) -> None:
    """Raise `UserError` if a folder exists."""
    if os.path.lexists(folder):
        raise DataError(f"{folder} already exists: remove it or choose another", argument="out")


def content_hash(paths: Iterable[pathlib.Path]) -> str:
    """sha256 of the names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        with reading(path), path.open("rb") as file:
            total.update(
                f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode()
            )
    return total.hexdigest()


def listing_hash(paths: Iterable[pathlib.Path]) -> str:
    """sha256 of the names, sizes and modification times of files that are too many to read."""
    total = hashlib.sha256()
    for path in paths:
        with reading(path):
            about = path.stat()
        total.update(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
    return total.hexdigest()


def short_hash(**what: object) -> str:
    """A name for data that is determined by `what`."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


@contextlib.contextmanager
def reading(path: pathlib.Path) -> Iterator[None]:
    """Turn errors of opening and reading a file into `DataError`."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def check_folder(argument: str, path: pathlib.Path) -> pathlib.Path:
    """A folder that exists."""
    try:
        is_folder = path.is_dir()
    except OSError as error:  # such as a name that is too long
        shown = f"{str(path)[:60]}…" if len(str(path)) > 60 else path
        raise DataError(f"cannot read {shown}: {error.strerror}", argument=argument) from None
    if not is_folder:
        raise DataError(f"{path} is not a folder", argument=argument)
    return path


def check_space(folder: pathlib.Path, count: int, bytes_each: int) -> None:
    """Raise `UserError` if the disk of a folder, which need not exist, has too little space."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    need, free = count * bytes_each, shutil.disk_usage(folder).free
    if need > free:
        raise DataError(
            f"{count} examples need about {_size(need)}, and {folder.absolute()} has "
            f"{_size(free)} free",
            argument="count",
        )


def _size(count: int) -> str:
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    power = min((len(str(count)) - 1) // 3, len(units) - 1)
    return f"{count / 1000**power:.3g} {units[power]}"
