"""Unpacking of archives that come from the network."""

import pathlib
import shutil
import tarfile
from collections.abc import Callable

from ._errors import DataError


def unpack(
    archive: pathlib.Path, place: Callable[[str], str | None], folder: pathlib.Path
) -> list[str]:
    """Extract files of a .tar.gz archive into a folder, and return their names in the archive.

    An archive with an absolute path or with `..` in a path is rejected as a whole. Only regular
    files are extracted.

    **Arguments:**

    - `place`: maps the name of a file in the archive to its path in `folder`; None skips the file.
    """
    extracted = []
    try:
        with tarfile.open(archive, "r:gz") as tar:
            members = tar.getmembers()
            if unsafe := next((m.name for m in members if not is_inside(m.name)), None):
                raise DataError(f"{archive.name} contains the unsafe path {unsafe!r}: not unpacked")
            for member in members:
                target = place(member.name) if member.isreg() else None
                file = tar.extractfile(member) if target is not None else None
                if target is None or file is None:
                    continue
                path = folder / target
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as out:
                    shutil.copyfileobj(file, out)
                extracted.append(member.name)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the archive
        raise DataError(f"{archive.name} is corrupted: {error}") from None
    return extracted


def is_inside(name: str) -> bool:
    """Whether a relative path stays within its folder."""
    path = pathlib.PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name
