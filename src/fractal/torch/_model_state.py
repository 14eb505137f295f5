"""The state of a streaming model: states of the mixers, number of steps, sum of the features."""

# pyright: reportMissingImports=false

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ._clock import accumulate


class ModelState(NamedTuple):
    """State of a streaming model.

    **Fields:**

    - `mixers`: states of the mixers.
    - `steps`: number of steps, an integer of 64 bits.
    - `total`, `total_lost`: sum of the features for `pooling="mean"`, otherwise None; and what
      rounding removed from it, in two words of decreasing size.
    """

    mixers: tuple[Any, ...]
    steps: Int[Tensor, ""]
    total: Float[Tensor, "batch width"] | None
    total_lost: Float[Tensor, "batch 2 width"] | None


def initial_model_state(
    mixers: tuple[Any, ...], pooling: str, weight: Float[Tensor, "outputs width"], batch: int
) -> ModelState:
    """The state before the first step, with sums of the width and dtype of the head's weight."""
    steps = torch.zeros((), dtype=torch.int64, device=weight.device)
    if pooling != "mean":
        return ModelState(mixers, steps, None, None)
    sums = weight.new_zeros(batch, 3, weight.shape[1])
    return ModelState(mixers, steps, sums[:, 0], sums[:, 1:])


def pool_steps(
    state: ModelState, h: Float[Tensor, "batch time width"]
) -> tuple[Float[Tensor, "batch time width"], ModelState]:
    """Pooled features after each step, and the state with the number and sum of the steps."""
    counts = state.steps + torch.arange(1, h.shape[1] + 1, device=h.device)
    after = state._replace(steps=counts[-1])
    if state.total is None or state.total_lost is None:
        return h, after
    h = h.to(state.total.dtype)
    sums = state.total[:, None] + torch.cumsum(h, 1)
    total, lost = accumulate(state.total, state.total_lost, h.sum(1))
    return sums / counts.to(h.dtype)[:, None], after._replace(total=total, total_lost=lost)
