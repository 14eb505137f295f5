"""Checks of arguments: one line that names the argument, its value and the allowed range."""

import operator
import os
import pathlib
import shutil
from collections.abc import Sequence
from typing import Any

from .._cores import cores
from .._errors import UserError
from ._errors import DataError

_WORKERS_PER_CORE = 4
_SEEDS = 2**32


def check_whole(
    argument: str, value: Any, smallest: int, largest: int | None = None, why: str = ""
) -> int:
    """An int in [`smallest`, `largest`]; `why` explains the bound."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UserError(f"must be a whole number, got {value!r}", argument=argument)
    if number < smallest:
        raise UserError(f"must be at least {smallest}{why}, got {value!r}", argument=argument)
    if largest is not None and number > largest:
        raise UserError(f"must be at most {largest}{why}, got {value!r}", argument=argument)
    return number


def check_seed(seed: Any) -> int:
    """A seed of a random stream."""
    return check_whole("seed", seed, 0, _SEEDS - 1)


def check_workers(workers: Any) -> int:
    """A number of processes that this machine can run at once."""
    count = len(cores())
    check_whole("workers", workers, 1)
    why = f", {_WORKERS_PER_CORE} for each of {count} cores"
    return check_whole("workers", workers, 1, _WORKERS_PER_CORE * count, why)


def check_one_of(argument: str, value: Any, allowed: Sequence[str]) -> None:
    """One of a few strings."""
    if not (isinstance(value, str) and value in allowed):
        raise UserError(f"must be one of {', '.join(allowed)}; got {value!r}", argument=argument)


def check_path(argument: str, value: Any) -> pathlib.Path:
    """A path; the empty string is none."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise UserError(f"must be a path, got {value!r}", argument=argument)
    if not os.fspath(value) or "\0" in os.fspath(value):
        raise UserError(f"must not be an empty string or hold a null byte, got {value!r}",
                        argument=argument)  # fmt: skip
    return pathlib.Path(value)


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
    """Refuse more examples than the disk of a folder, which need not exist yet, has room for."""
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
