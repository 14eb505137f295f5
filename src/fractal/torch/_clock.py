"""Clocks: the elapsed time of each step, and sums over streams of any length.

See `fractal.nn`: on the uniform clock time is t, on the scale-invariant clock log t. Durations and
elapsed times are of shape (1 or batch, 1 or time, clocks), times of shape (1 or batch, clocks).
"""

# pyright: reportMissingImports=false

import torch
from torch import Tensor


def elapsed_per_step(
    clock: str, length: int, time: Tensor, dt: Tensor, mask: Tensor | None
) -> Tensor:
    """Elapsed time per step. Infinite at the first sample of the scale-invariant clock.

    **Arguments:**

    - `time`: time before the first step.
    - `dt`: durations of the samples.
    - `mask`: (batch, time), False at steps to skip.
    """
    if clock == "uniform" and mask is None:
        return dt
    durations = _per_step(length, dt, mask)
    if clock == "uniform":
        return durations
    ends = time[:, None] + torch.cumsum(durations, 1)
    starts = torch.cat([time[:, None].expand_as(ends[:, :1]), ends[:, :-1]], 1)
    begun = starts > 0
    # Both `where` are needed: the unused branch must have a finite gradient too.
    elapsed = torch.log1p(durations / torch.where(begun, starts, 1.0))
    first = torch.where(durations > 0, torch.inf, 0.0).to(elapsed.dtype)
    return torch.where(begun, elapsed, first)


def reversed_elapsed(clock: str, length: int, dt: Tensor, mask: Tensor | None) -> Tensor:
    """Elapsed time per step of the reverse scan, whose time starts at the last sample."""
    zero = torch.zeros_like(dt[:1, 0])
    if clock == "uniform":
        return elapsed_per_step(clock, length, zero, dt, mask)
    mask = None if mask is None else mask.flip(1)
    return elapsed_per_step(clock, length, zero, dt.flip(1), mask).flip(1)


def advance(
    time: Tensor, lost: Tensor, length: int, dt: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The time after `length` steps, and what its rounding removed, (batch, 2, clocks)."""
    if dt.shape[1] == 1:
        count = length if mask is None else mask.sum(1, keepdim=True).to(dt.dtype)
        duration = dt[:, 0] * count
    else:
        duration = _per_step(length, dt, mask).sum(1)
    return accumulate(time, lost, duration.expand_as(time))


def accumulate(total: Tensor, lost: Tensor, term: Tensor) -> tuple[Tensor, Tensor]:
    """Add a term to a sum in three words; see `fractal.nn`.

    **Arguments:**

    - `total`: the sum so far, rounded, (batch, …).
    - `lost`: the remainder of the sum, in two words of decreasing size, (batch, 2, …).
    """
    carry, smallest = _two_sum(term, lost[:, 1])
    carry, middle = _two_sum(carry, lost[:, 0])
    total, largest = _two_sum(carry, total)
    return total, torch.stack([largest, middle + smallest], 1)


def _two_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The rounded sum, and its rounding error, which is exact."""
    total = a + b
    rounded_b = total - a
    return total, (a - (total - rounded_b)) + (b - rounded_b)


def _per_step(length: int, dt: Tensor, mask: Tensor | None) -> Tensor:
    """Durations with an axis of time, zero at steps to skip."""
    durations = dt.expand(-1, length, -1)
    return durations if mask is None else torch.where(mask[..., None], durations, 0.0)
