"""Progress of a long job on stderr: a bar on a terminal, plain lines elsewhere."""

import importlib.util
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 10.0


def progress(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """Iterate over the items and show how many of `total` have been taken."""
    show = _bar if sys.stderr.isatty() and importlib.util.find_spec("rich") else _lines
    return show(items, label, total)


def _bar(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=total, description=label)


def _lines(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """Print a line every few seconds; short jobs print none."""
    last = time.monotonic()
    for count, item in enumerate(items, 1):
        yield item
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{label}: {count} of {total}", file=sys.stderr)
