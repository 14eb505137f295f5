"""How far a long job is: a bar on a terminal, plain lines elsewhere; always on stderr."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 10.0


def progress(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """The items one by one, counted as they are taken."""
    show = _bar if sys.stderr.isatty() else _lines
    return show(items, label, total)


def _bar(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=total, description=label)


def _lines(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """Short jobs stay silent."""
    last = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{label}: {done} of {total}", file=sys.stderr)
