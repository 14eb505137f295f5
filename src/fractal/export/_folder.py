"""The files of an export, written completely or not at all."""

import contextlib
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Mapping

from .._checks import check_path
from .._errors import UserError


def check_prefix(prefix: object) -> str:
    """Validate the name of files and functions: a C identifier."""
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", prefix):
        message = f"must be a name of letters, digits and underscores, got {prefix!r:.60}"
        raise UserError(message, argument="prefix")
    return prefix


def write_files(folder: str | os.PathLike, files: Mapping[str, bytes]) -> list[pathlib.Path]:
    """Write files into a folder, which is made if there is none; files of these names are replaced.

    They are moved there when all of them are complete. If that fails nothing is left behind.
    """
    folder = pathlib.Path(check_path("folder", folder))
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder", argument="folder")
    made = next((one for one in (*reversed(folder.parents), folder) if not one.exists()), None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as temporary:
            for name, data in files.items():
                (pathlib.Path(temporary) / name).write_bytes(data)
            for name in files:
                os.replace(pathlib.Path(temporary) / name, folder / name)
    except OSError as error:
        if made is not None:
            with contextlib.suppress(OSError):
                shutil.rmtree(made)
        why = f"cannot write in {folder}: {error.strerror or error}"
        raise UserError(why, argument="folder") from None
    return [folder / name for name in files]
