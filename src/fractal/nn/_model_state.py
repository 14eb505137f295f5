"""The state of a streaming model: states of the mixers, number of steps, sum of the features."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

from ._positions import add_steps, no_steps, steps_as_float
from ._running_sum import accumulate


class ModelState(NamedTuple):
    """State of a streaming model.

    **Fields:**

    - `mixers`: states of the mixers.
    - `steps`: number of steps, as lower and upper 32 bits.
    - `total`, `total_lost`: sum of the features for `pooling="mean"`, otherwise None; and what
      rounding removed from it, in two words of decreasing size.
    """

    mixers: tuple[Any, ...]
    steps: UInt32[Array, "2"]
    total: Float[Array, " width"] | None
    total_lost: Float[Array, "2 width"] | None


def initial_model_state(
    mixers: tuple[Any, ...], pooling: str, weight: Float[Array, "outputs width"]
) -> ModelState:
    """The state before the first step, with sums of the width and dtype of the head's weight."""
    if pooling != "mean":
        return ModelState(mixers, no_steps(), None, None)
    sums = jnp.zeros((3, weight.shape[1]), weight.dtype)
    return ModelState(mixers, no_steps(), sums[0], sums[1:])


def pool_steps(
    state: ModelState, h: Float[Array, "time width"]
) -> tuple[Float[Array, "time width"], ModelState]:
    """Pooled features after each step, and the state with the number and sum of the steps."""
    counts = add_steps(state.steps, jnp.arange(1, len(h) + 1, dtype=jnp.uint32))
    after = state._replace(steps=counts[:, -1])
    if state.total is None or state.total_lost is None:
        return h, after
    h = h.astype(state.total.dtype)
    sums = state.total[None] + jnp.cumsum(h, axis=0)
    means = sums / steps_as_float(counts, h.dtype)[:, None]
    total, lost = accumulate(state.total, state.total_lost, h.sum(axis=0))
    return means, after._replace(total=total, total_lost=lost)
