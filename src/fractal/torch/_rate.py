"""Input-dependent time: durations that the layer computes from its input, as in `fractal.nn`.

Durations are of shape (1 or batch, 1 or time, clocks): one clock, or one per block.
"""

# pyright: reportMissingImports=false

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


class SelectiveRate(nn.Module):
    """One rate per block of the filter bank: softplus(w·u + c), 1 initially."""

    FIELDS = ("weight", "bias")

    def __init__(self, blocks: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(blocks, width))
        self.bias = nn.Parameter(torch.full((blocks,), math.log(math.e - 1)))

    def forward(self, u: Tensor) -> Tensor:
        """The rates of samples."""
        return softplus(u @ self.weight.T + self.bias)


class PathRate(nn.Module):
    """The length of the path of the input: |Δu|/√width, or with weights one length per block."""

    FIELDS = ("weight",)

    def __init__(self, blocks: int | None, width: int):
        super().__init__()
        self.weight = None
        if blocks is not None:
            self.weight = nn.Parameter(torch.full((blocks, width), 1 / math.sqrt(width)))

    def forward(self, change: Tensor) -> Tensor:
        """The durations of samples, from the changes of the input."""
        squares = change**2
        if self.weight is None:
            size = squares.mean(-1, keepdim=True)
        else:
            size = squares @ (self.weight**2).T
        # The derivative at zero is set to zero; both `where` are needed for it to be finite.
        moved = size > 0
        return torch.where(moved, torch.sqrt(torch.where(moved, size, 1.0)), 0.0)


def make_rate(
    rate: str | None, selective: bool, blocks: int, width: int
) -> SelectiveRate | PathRate | None:
    """The rate of a layer; None for a fixed clock."""
    if rate == "path":
        return PathRate(blocks if selective else None, width)
    return SelectiveRate(blocks, width) if selective else None


def durations(
    rate: SelectiveRate | PathRate | None,
    u: Tensor,
    dt: Tensor,
    mask: Tensor | None,
    before: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The time that each sample takes, in forward and in reverse time.

    **Arguments:**

    - `dt`: durations (1 or batch, 1 or time, 1).
    - `mask`: False at samples that are not part of the path.
    - `before`: the sample before the first one, for a path; in reverse time it is zero.
    """
    if rate is None:
        return dt, dt
    if isinstance(rate, SelectiveRate):
        scaled = rate(u) * dt
        return scaled, scaled
    assert before is not None
    ahead, behind = held(u, mask, before), held(u.flip(1), _flipped(mask), torch.zeros_like(before))
    forward = torch.cat([before[:, None], ahead[:, :-1]], 1)
    backward = torch.cat([torch.zeros_like(before)[:, None], behind[:, :-1]], 1).flip(1)
    return rate(u - forward), rate(u - backward)


def held(u: Tensor, mask: Tensor | None, start: Tensor) -> Tensor:
    """The input, with the sample before them at masked steps; `start` before the first sample."""
    if mask is None:
        return u
    steps = torch.arange(u.shape[1], device=u.device)
    last = torch.where(mask, steps, -1).cummax(1).values[..., None]
    rows = torch.gather(u, 1, last.clamp(min=0).expand_as(u))
    return torch.where(last >= 0, rows, start[:, None])


def _flipped(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else mask.flip(1)
