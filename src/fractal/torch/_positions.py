"""Position embeddings for streams of any length, with step numbers of 64 bits."""

# pyright: reportMissingImports=false

import functools
import math

import torch
from torch import Tensor

from .._sinusoids import turns_per_step

_LOW = 2**32 - 1


def table_rows(table: Tensor, steps: Tensor) -> Tensor:
    """Learned embeddings of steps; the last one for steps after the end of the table."""
    return table[steps.clamp(max=len(table) - 1)]


def sinusoids(steps: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """Alternating sines and cosines with wavelengths from 2π to 2π · 10⁴ steps.

    The angle is computed in turns modulo 1, as a signed integer over 2⁶⁴ that wraps around. The
    error is below 2⁻³² turns for every step number.
    """
    low, high, quarter = (torch.tensor(row, device=steps.device) for row in _angles(width))
    angles = (steps & _LOW)[:, None] * low + (steps >> 32)[:, None] * high + quarter
    return torch.sin(angles.to(dtype) * (2 * math.pi / 2**64))


@functools.lru_cache(maxsize=16)
def _angles(width: int) -> tuple[list[int], list[int], list[int]]:
    """For each channel, the angles of one step and of 2³² steps, and a quarter turn for cosines."""
    turns = turns_per_step(width)
    low = [_signed(round(turn * 2**64)) for turn in turns]
    high = [_signed(round(turn * 2**96)) for turn in turns]
    return low, high, [(channel % 2) << 62 for channel in range(width)]


def _signed(angle: int) -> int:
    """The angle modulo one turn, in [−½, ½) turn."""
    return (angle + 2**63) % 2**64 - 2**63


def positions_of(
    table: Tensor | None, steps: Tensor | None, h: Tensor, dtype: torch.dtype
) -> Tensor:
    """Embeddings of the steps of h (batch, time, width) after `steps` steps, in the dtype of h.

    They are rows of the table, or without one sinusoids, computed in `dtype`.
    """
    numbers = torch.arange(h.shape[1], device=h.device)
    numbers = numbers if steps is None else numbers + steps
    if table is not None:
        return table_rows(table, numbers).to(h.dtype)
    return sinusoids(numbers, h.shape[2], dtype).to(h.dtype)
