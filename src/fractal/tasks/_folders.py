"""Folders that are written whole or not at all, and where data is kept."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator

from ._errors import DataError


def cache_folder() -> pathlib.Path:
    """Where fetched, generated and prepared data is kept; `FRACTAL_DATA` overrides."""
    if chosen := os.environ.get("FRACTAL_DATA"):
        return pathlib.Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "fractal"


@contextlib.contextmanager
def staged(folder: pathlib.Path, replaceable: bool = False) -> Iterator[pathlib.Path]:
    """A new folder to write into, which takes its place at `folder` when all went well.

    Otherwise it disappears. A `replaceable` folder is one that two processes may be making with
    the same contents: the first one stays.
    """
    temporary = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
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
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def require_free(folder: pathlib.Path) -> None:
    """Never write over what a user has."""
    if folder.exists():
        raise DataError(f"{folder} is already there: remove it, or choose another --out")


def content_hash(paths: Iterable[pathlib.Path]) -> str:
    """sha256 over names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        with reading(path), path.open("rb") as file:
            total.update(
                f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode()
            )
    return total.hexdigest()


def listing_hash(paths: Iterable[pathlib.Path]) -> str:
    """sha256 over names, sizes and times of files, where they are too many to read."""
    total = hashlib.sha256()
    for path in paths:
        with reading(path):
            about = path.stat()
        total.update(f"{path}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
    return total.hexdigest()


def short_hash(**what: object) -> str:
    """A name for a thing made from `what`."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


@contextlib.contextmanager
def reading(path: pathlib.Path) -> Iterator[None]:
    """A file that cannot be opened or read is the user's to know of."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
