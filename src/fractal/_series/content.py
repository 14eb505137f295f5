"""What a file holds: labeled cases for a classifier or regressor, or series to forecast."""

import dataclasses
import pathlib
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .._bounds import check_memory
from .._errors import UserError

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
"""Cells without a value, in lower case."""
NO_LABEL = ("", "?")
"""Cells without a label: a class may be named none or NA."""
LABELS = ("label", "class", "target", "y", "category")
IDS = ("id", "case", "case_id", "series", "series_id", "unique_id", "case id", "series id")
TIMES = ("time", "t", "timestamp", "date", "datetime", "ds", "step", "timepoint")
_INTEGER = re.compile(r"[+-]?\d+")
_LONGEST = 40  # characters of a cell in a message


@dataclasses.dataclass(frozen=True, eq=False)
class Cases:
    """Series with one label each.

    - `series`: one array per case; the lengths may differ, NaN is missing.
    - `labels`: as text, one per case, empty for a case without label; None where the file has none.
    - `numeric`: whether the file says that the labels are numbers; None where it does not say.
    - `times`: end of each sample, one array per case; None for regular samples.
    - `channels`: names of the channels.
    - `summary`: how the file was read, in one line.
    - `ids`: names of the cases, where the file has some.
    - `interval`: between regular samples, in the unit of the file's times; None if not known.
    - `dated`: whether times are dates, in seconds.
    - `target`, `identity`, `time`: names of the columns of the labels, of the ids in a table with
      one sample per row, and of its times; None where there is no such column with a name.
    """

    series: list[Float[np.ndarray, "channels _"]]
    labels: list[str] | None
    numeric: bool | None
    times: list[Float[np.ndarray, " _"]] | None
    channels: list[str]
    summary: str
    ids: list[str] | None = None
    interval: float | None = None
    dated: bool = False
    target: str | None = None
    identity: str | None = None
    time: str | None = None

    def targets(self) -> Float[np.ndarray, " cases"] | None:
        """The labels as finite numbers; None where one of them is not."""
        try:
            found = np.array([float(label) for label in self.labels or ()])
        except ValueError:
            return None
        return found if len(found) and np.isfinite(found).all() else None

    def unit(self) -> float | None:
        """The median interval between samples; None without times."""
        if self.times is None:
            return self.interval
        gaps = np.concatenate([np.diff(one) for one in self.times])
        return float(np.median(gaps)) if len(gaps) else None


class TrainedOn(NamedTuple):
    """What a model was fitted to, by which further files are read.

    - `steps`: largest number of steps.
    - `classes`: as text; empty for a regressor.
    - `target`, `identity`, `time`, `dated`: as of `Cases`.
    - `channels`: their names; empty where they are not known.
    - `unit`: median interval between samples, in which the model has times; None without times.
    - `irregular`: whether the model was given times.
    """

    steps: int
    classes: frozenset[str]
    target: str | None = None
    channels: tuple[str, ...] = ()
    unit: float | None = None
    dated: bool = False
    identity: str | None = None
    time: str | None = None
    irregular: bool = False


def read_text(path: pathlib.Path, data: bytes) -> str:
    """The text of a file in UTF-8, with or without a byte-order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a text file in UTF-8") from None


def read_bytes(path: pathlib.Path, factor: float = 1.0) -> bytes:
    """The content of a file, whose values need `factor` times as much memory."""
    try:
        check_memory(factor * path.stat().st_size, str(path))
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def regular_interval(times: Sequence[np.ndarray]) -> float | None:
    """The interval between all samples, up to rounding; None if there is no such interval."""
    spans = [one for one in times if len(one) > 1]
    steps = [float(one[-1] - one[0]) / (len(one) - 1) for one in spans]
    if not steps or not all(map(is_regular, spans)) or not np.allclose(steps, steps[0], 1e-6, 0):
        return None
    return steps[0]


def is_regular(values: np.ndarray) -> bool:
    """Whether the differences of some numbers are equal, up to rounding."""
    line = np.linspace(values[0], values[-1], len(values))
    rounding = 4 * np.finfo(float).eps * np.abs(values).max()
    step = abs(values[-1] - values[0]) / max(len(values) - 1, 1)
    return bool((np.abs(values - line) <= 1e-6 * step + rounding).all())


def label_text(cell: str) -> str:
    """A label as text; a number such as 1.0 or 1e0 is the class 1."""
    try:
        value = float(cell)
    except ValueError:
        return cell
    return cell if _INTEGER.fullmatch(cell) or not value.is_integer() else str(int(value))


def shown(cell: str) -> str:
    """A cell in a message, cut if it is long."""
    return repr(cell if len(cell) <= _LONGEST else f"{cell[:_LONGEST]}…")


def counted(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def described(series: list[np.ndarray]) -> str:
    """Number, channels and lengths of some cases."""
    lengths = [one.shape[-1] for one in series]
    low, high = min(lengths), max(lengths)
    steps = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    channels = counted(len(series[0]), "channel")
    return f"{counted(len(series), 'case')} of {steps} steps, {channels}"
