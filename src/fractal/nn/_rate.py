"""Input-dependent time: durations of samples that the layer computes from its input.

The memory of a layer is defined in a time that only moves forward. Its rate r may depend on the
input: a sample of duration dt then takes the time r·dt. A rate of zero stops the clock, so that the
sample does not change the state; a large rate replaces the state by the sample.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._checks import check_count
from .._engine.inputs import last_state
from .._engine.sharding import hold_last, previous


class SelectiveRate(eqx.Module):
    """One rate per block of the filter bank: r = softplus(w·u + c).

    Initially w = 0 and c = log(e − 1): all rates are 1, and the layer is one with a fixed clock.
    The gradients of w are not zero, and differ between blocks since their modes do.
    """

    weight: Float[Array, "blocks width"]
    bias: Float[Array, " blocks"]

    def __init__(self, blocks: int, width: int):
        blocks = check_count("blocks", blocks, smallest=1)
        self.weight = jnp.zeros((blocks, check_count("width", width, smallest=1)))
        self.bias = jnp.full(blocks, math.log(math.e - 1))

    def __call__(self, u: Float[Array, "*time width"]) -> Float[Array, "*time blocks"]:
        """The rates of samples."""
        projected = u @ self.weight.T
        return jax.nn.softplus(projected + jax.lax.broadcast_to_rank(self.bias, projected.ndim))


class PathRate(eqx.Module):
    """The length of the path of the input: time passes as the signal changes.

    A sample takes the time |Δu|/√width, the root mean square over the channels of the change since
    the previous sample; or, with weights, one time ‖w ∘ Δu‖ per block, with w = 1/√width initially.
    """

    weight: Float[Array, "blocks width"] | None

    def __init__(self, blocks: int | None, width: int):
        self.weight = None
        if blocks is not None:
            width = check_count("width", width, smallest=1)
            shape = (check_count("blocks", blocks, smallest=1), width)
            self.weight = jnp.full(shape, 1 / math.sqrt(width))

    def __call__(self, change: Float[Array, "*time width"]) -> Float[Array, "*time_blocks"]:
        """The durations of samples, from the changes of the input."""
        squares = change**2
        size = squares.mean(axis=-1) if self.weight is None else squares @ (self.weight**2).T
        # The derivative at zero is set to zero; both `where` are needed for it to be finite.
        moved = size > 0
        return jnp.where(moved, jnp.sqrt(jnp.where(moved, size, 1.0)), 0.0)


Rate = SelectiveRate | PathRate


def make_rate(rate: str | None, selective: bool, blocks: int, width: int) -> Rate | None:
    """The rate of a layer; None for a fixed clock."""
    if rate == "path":
        return PathRate(blocks if selective else None, width)
    return SelectiveRate(blocks, width) if selective else None


def durations(
    rate: Rate | None,
    u: Float[Array, "time width"],
    dt: Float[Array, "*time"],
    mask: Bool[Array, " time"] | None,
    before: Float[Array, " width"] | None,
    axis_name: str | None,
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The time that each sample takes, in forward and in reverse time.

    `dt` for a fixed clock; otherwise with an axis of time.

    **Arguments:**

    - `mask`: False at samples that are not part of the path.
    - `before`: the sample before the first one, for a path; in reverse time it is zero.
    """
    if rate is None:
        return dt, dt
    if isinstance(rate, SelectiveRate):
        scaled = rate(u) * (dt if dt.ndim == 0 else dt[:, None])
        return scaled, scaled
    assert before is not None
    starts = (before, jnp.zeros_like(before))
    forward, backward = (
        rate(u - previous(axis_name, reverse, _held(u, mask, start, axis_name, reverse), start))
        for reverse, start in zip((False, True), starts, strict=True)
    )
    return forward, backward


def last_sample(
    u: Float[Array, "time width"],
    mask: Bool[Array, " time"] | None,
    end: Int[Array, ""] | None,
    before: Float[Array, " width"] | None,
    axis_name: str | None,
) -> Float[Array, " width"] | None:
    """The last real sample of all parts, or `before` if there is none; None without a path."""
    if before is None:
        return None
    return last_state(_held(u, mask, before, axis_name), end, before, axis_name)


def _held(
    u: Float[Array, "time width"],
    mask: Bool[Array, " time"] | None,
    start: Float[Array, " width"],
    axis_name: str | None,
    reverse: bool = False,
) -> Float[Array, "time width"]:
    """The input, with the sample before them at masked steps."""
    return u if mask is None else hold_last(axis_name, reverse, u, mask, start)
