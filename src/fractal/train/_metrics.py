"""Metrics of a run: metrics.jsonl in its folder, a progress bar, and other loggers."""

import contextlib
import datetime
import importlib
import json
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from .._errors import UserError
from .._files import write_whole
from .._run_folder import METRICS, metric_lines

_SECONDS_BETWEEN_LINES = 5.0
_PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb", "trackio": "trackio"}


@runtime_checkable
class Logger(Protocol):
    """A destination of metrics."""

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Write the metrics of a step."""
        ...

    def finish(self) -> None:
        """End the log."""
        ...


class MetricsLogger:
    """Writes metrics.jsonl, shows a progress bar or lines on stderr, and calls other loggers.

    When a run is resumed at step `start`, later lines are removed: they are written again.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        start: int,
        steps: int,
        batch: int,
        writes: bool,
        loggers: Sequence[Logger] = (),
    ):
        self._path, self._writes, self._loggers = folder / METRICS, writes, loggers
        self._steps, self._batch, self._shown = steps, batch, {}
        self._first = self._last = (start, time.monotonic())
        self._speed = ""
        self._bar = None
        if not writes:
            return
        _keep_until(self._path, start)
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.completed}/{task.total}"),
                BarColumn(bar_width=16),
                TextColumn("{task.description}"),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task("compiling", total=steps, completed=start)

    def log(self, step: int, **metrics: float) -> None:
        """Write the metrics of a step."""
        if not self._writes:
            return
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **metrics}) + "\n")
        for logger in self._loggers:
            logger.log(metrics, step)

    def show(self, step: int, **metrics: float) -> None:
        """Show metrics and the speed; in a file, one line every few seconds at most."""
        if not self._writes:
            return
        self._shown |= metrics
        before, then = self._last
        passed = time.monotonic() - then
        if self._bar is None and passed < _SECONDS_BETWEEN_LINES:
            return
        if step > before:
            self._last = (step, time.monotonic())
            self._speed = f"{(step - before) * self._batch / passed:,.0f} examples/s"
        parts = [f"{name} {value:.3g}" for name, value in self._shown.items()]
        text = ", ".join([self._speed, *parts]) + self._left(step)
        if self._bar is not None:
            self._bar.update(self._task, completed=step, description=text)
        else:
            print(f"step {step} of {self._steps}: {text}", file=sys.stderr, flush=True)

    def _left(self, step: int) -> str:
        """The time left at the mean speed of this process."""
        start, then = self._first
        if not start < step < self._steps:
            return ""
        seconds = (time.monotonic() - then) / (step - start) * (self._steps - step)
        return f", {datetime.timedelta(seconds=round(seconds))} left"

    def close(self) -> None:
        """End the progress bar and the loggers."""
        if self._bar is not None:
            self._bar.stop()
        for logger in self._loggers:
            logger.finish()


def _keep_until(path: pathlib.Path, step: int) -> None:
    if not path.exists():
        return
    kept = []
    with contextlib.suppress(UserError):  # what follows a corrupted line is lost
        for raw, line in metric_lines(path.parent):
            if line["step"] > step:
                break
            kept.append(raw + b"\n")
    write_whole(path, b"".join(kept))


def find_loggers(names: Sequence[str | Logger]) -> list[tuple[str, Any]]:
    """The package of each logger with its name; a logger that is an object has the name ""."""
    found = []
    for name in names:
        if isinstance(name, Logger) and not isinstance(name, type):
            found.append(("", name))
            continue
        if not isinstance(name, str) or name not in _PACKAGES:
            known = ", ".join(_PACKAGES)
            message = f"must be some of {known}, or have log and finish, got {name!r:.60}"
            raise UserError(message, argument="loggers")
        try:
            found.append((name, importlib.import_module(_PACKAGES[name])))
        except ImportError:
            message = f"{name} is not installed: pip install 'fractal-ssm[{name}]'"
            raise UserError(message, argument="loggers") from None
    return found


def open_loggers(
    found: Sequence[tuple[str, Any]], folder: pathlib.Path, settings: dict
) -> list[Logger]:
    """Loggers of a run, from the packages found."""
    opened: list[Logger] = []
    for name, package in found:
        if not name:
            opened.append(package)
        elif name == "tensorboard":
            opened.append(_TensorBoard(package.SummaryWriter(str(folder / name))))
        else:
            opened.append(package.init(project="fractal", name=folder.name, config=settings))
    return opened


class _TensorBoard:
    """TensorBoard's writer as a logger."""

    def __init__(self, writer: Any):
        self._writer = writer

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Write scalars."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        """Close the file."""
        self._writer.close()
