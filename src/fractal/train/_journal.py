"""What a run says while it goes on: lines of JSON in its folder, a bar, and other loggers."""

import importlib
import json
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from .._checks import check_name
from .._errors import UserError
from .._files import write_whole

_SECONDS_BETWEEN_LINES = 5.0
_PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb", "trackio": "trackio"}


@runtime_checkable
class Logger(Protocol):
    """Where else numbers go."""

    def log(self, numbers: dict[str, float], step: int) -> None:
        """Numbers by name, at a step."""
        ...

    def finish(self) -> None:
        """Nothing more comes."""
        ...


class Journal:
    """Numbers of a run: metrics.jsonl, a progress bar or lines on stderr, and loggers.

    Of a run that goes on, lines after step `start` are taken back: they will come again.
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
        self._path, self._writes, self._loggers = folder / "metrics.jsonl", writes, loggers
        self._steps, self._batch, self._shown = steps, batch, {}
        self._last, self._speed = (start, time.monotonic()), ""
        self._bar = None
        if not writes:
            return
        _keep_until(self._path, start)
        if sys.stderr.isatty():
            columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(bar_width=16))
            shown = TextColumn("{task.description}")
            self._bar = Progress(
                *columns, TimeRemainingColumn(), shown, console=Console(stderr=True)
            )
            self._bar.start()
            self._task = self._bar.add_task("compiling", total=steps, completed=start)

    def log(self, step: int, **numbers: float) -> None:
        """Write numbers down, at a step."""
        if not self._writes:
            return
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **numbers}) + "\n")
        for logger in self._loggers:
            logger.log(numbers, step)

    def show(self, step: int, **numbers: float) -> None:
        """Show numbers and the speed; lines on a file come a few seconds apart."""
        if not self._writes:
            return
        self._shown |= numbers
        before, then = self._last
        passed = time.monotonic() - then
        if self._bar is None and passed < _SECONDS_BETWEEN_LINES:
            return
        if step > before:
            self._last = (step, time.monotonic())
            self._speed = f"{(step - before) * self._batch / passed:,.0f} examples/s"
        numbers_shown = [f"{name} {value:.3g}" for name, value in self._shown.items()]
        text = ", ".join([self._speed, *numbers_shown])
        if self._bar is not None:
            self._bar.update(self._task, completed=step, description=text)
        else:
            print(f"step {step} of {self._steps}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Put the bar away, and end the loggers."""
        if self._bar is not None:
            self._bar.stop()
        for logger in self._loggers:
            logger.finish()


def _keep_until(path: pathlib.Path, step: int) -> None:
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            if json.loads(line)["step"] > step:
                break
        except ValueError:
            break  # cut off when the run was killed
        kept.append(line + "\n")
    write_whole(path, "".join(kept).encode())


def find_loggers(names: Sequence[str]) -> dict[str, Any]:
    """The packages of loggers by name, which are extras of ours."""
    found = {}
    for name in names:
        check_name("logger", name, _PACKAGES)
        try:
            found[name] = importlib.import_module(_PACKAGES[name])
        except ImportError:
            raise UserError(f"--log {name}: pip install 'fractal-ssm[{name}]'") from None
    return found


def open_loggers(found: Mapping[str, Any], folder: pathlib.Path, settings: dict) -> list[Logger]:
    """Loggers for a run, of the packages found."""
    return [
        _TensorBoard(package.SummaryWriter(str(folder / name)))
        if name == "tensorboard"
        else package.init(project="fractal", name=folder.name, config=settings)
        for name, package in found.items()
    ]


class _TensorBoard:
    """TensorBoard's writer, as a logger."""

    def __init__(self, writer: Any):
        self._writer = writer

    def log(self, numbers: dict[str, float], step: int) -> None:
        """Scalars by name."""
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        """Write what is left."""
        self._writer.close()
