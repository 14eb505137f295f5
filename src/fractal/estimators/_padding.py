"""Batches of few shapes: cases of similar length are padded to a common length.

Every shape is compiled once, which takes seconds. Lengths are rounded up by at most an eighth; with
unequal lengths, batches have the longest of them or a half, a quarter or an eighth of it. Rows that
complete a batch have weight 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int

from ._preparation import CaseInputs

_SHORTEST = 16  # steps
_MOST_HALVINGS = 3


class PaddedBatch(NamedTuple):
    """Padded inputs (batch, time, inputs), durations or None, lengths, and rows of the cases.

    Rows that complete the batch repeat the first case, and are missing in `rows`.
    """

    values: Float32[np.ndarray, "batch time inputs"]
    dt: Float32[np.ndarray, "batch time"] | None
    lengths: Int[np.ndarray, " batch"]
    rows: Int[np.ndarray, " real"]


def rounded(length: int) -> int:
    """The length, rounded up to one of eight values per octave."""
    if length <= _SHORTEST:
        return _SHORTEST
    step = 1 << max(length.bit_length() - 4, 0)
    return -(-length // step) * step


def padded_lengths(lengths: Int[np.ndarray, " cases"]) -> Int[np.ndarray, " cases"]:
    """The length to which each case is padded."""
    longest = int(lengths.max())
    grid = sorted({rounded(-(-longest >> halvings)) for halvings in range(_MOST_HALVINGS + 1)})
    return np.array(grid)[np.searchsorted(grid, lengths)]


def batches(
    series: Sequence[CaseInputs], size: int, order: Int[np.ndarray, " cases"] | None = None
) -> list[PaddedBatch]:
    """All cases in batches of `size`, of similar length, in `order` within a length."""
    rows = np.arange(len(series)) if order is None else order
    padded = padded_lengths(np.array([len(one.values) for one in series]))[rows]
    made = []
    for length in np.unique(padded):
        chosen = rows[padded == length]
        for start in range(0, len(chosen), size):
            made.append(pad(series, chosen[start : start + size], size, int(length)))
    return made


def pad(
    series: Sequence[CaseInputs], rows: Int[np.ndarray, " real"], size: int, length: int
) -> PaddedBatch:
    """The cases of `rows`, padded to `length`, and completed to `size` rows."""
    filled = np.concatenate([rows, np.repeat(rows[:1], size - len(rows))])
    chosen = [series[i] for i in filled]
    values = np.zeros((size, length, chosen[0].values.shape[1]), np.float32)
    with_times = any(one.dt is not None for one in chosen)
    dt = np.ones((size, length), np.float32) if with_times else None
    for place, one in enumerate(chosen):
        values[place, : len(one.values)] = one.values
        if dt is not None and one.dt is not None:
            dt[place, : len(one.values)] = one.dt
    return PaddedBatch(values, dt, np.array([len(one.values) for one in chosen], np.int32), rows)
