"""What a file holds: labeled cases for a classifier or regressor, or series to forecast."""

import dataclasses
import pathlib
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .._bounds import check_memory
from .._errors import UserError

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
"""Cells without a value, in lower case."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cases:
    """Series with one label each.

    - `series`: one array per case; the lengths may differ, NaN is missing.
    - `labels`: as text, one per case; None where the file has none.
    - `numeric`: whether the file says that the labels are numbers; None where it does not say.
    - `times`: end of each sample, one array per case; None for regular samples.
    - `channels`: names of the channels.
    - `summary`: how the file was read, in one line.
    - `ids`: names of the cases, where the file has some.
    """

    series: list[Float[np.ndarray, "channels _"]]
    labels: list[str] | None
    numeric: bool | None
    times: list[Float[np.ndarray, " _"]] | None
    channels: list[str]
    summary: str
    ids: list[str] | None = None

    def targets(self) -> Float[np.ndarray, " cases"] | None:
        """The labels as finite numbers; None where one of them is not."""
        try:
            found = np.array([float(label) for label in self.labels or ()])
        except ValueError:
            return None
        return found if len(found) and np.isfinite(found).all() else None


class TrainedOn(NamedTuple):
    """What a model was fitted to: the largest number of steps, and its classes as text.

    It tells whether the first column of a table without header is a label.
    """

    steps: int
    classes: frozenset[str]


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


def counted(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def described(series: list[np.ndarray]) -> str:
    """Number, channels and lengths of some cases."""
    lengths = [one.shape[-1] for one in series]
    low, high = min(lengths), max(lengths)
    steps = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    channels = counted(len(series[0]), "channel")
    return f"{counted(len(series), 'case')} of {steps} steps, {channels}"
