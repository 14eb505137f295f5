"""Clocks: how much of a mode's own time s passes in each step.

The uniform clock counts the time between samples. The scale-invariant clock counts its logarithm,
s = log t: a signal played at any speed leaves the same state. A masked step stops either clock.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

CLOCKS = ("uniform", "scale-invariant")


def ticks(
    clock: str,
    length: int,
    time: Float[Array, ""],
    dt: Float[Array, "*steps"],
    mask: Bool[Array, " time"] | None,
) -> Float[Array, "..."]:
    """What passes in each step of a sequence begun at `time` whose samples last `dt`.

    A scalar where all steps are equal. Under the scale-invariant clock the first sample takes an
    infinite time: nothing was before it, so that it is taken for all of the past.
    """
    if clock == "uniform":
        return dt if mask is None else jnp.where(mask, dt, 0.0)
    durations = jnp.broadcast_to(dt, (length,))
    if mask is not None:
        durations = jnp.where(mask, durations, 0.0)
    ends = time + jnp.cumsum(durations)
    starts = jnp.concatenate([time[None], ends[:-1]])
    begun = starts > 0
    # `where` inside and outside: the branch not taken must not poison the gradient.
    elapsed = jnp.log1p(durations / jnp.where(begun, starts, 1.0))
    return jnp.where(begun, elapsed, jnp.where(durations > 0, jnp.inf, 0.0))


def reversed_ticks(
    clock: str, length: int, dt: Float[Array, "*steps"], mask: Bool[Array, " time"] | None
) -> Float[Array, "..."]:
    """The ticks of the reverse direction, which counts from its own start, the last sample."""
    if clock == "uniform":
        return ticks(clock, length, jnp.zeros((), dt.dtype), dt, mask)
    backwards = jnp.broadcast_to(dt, (length,))[::-1]
    mask = None if mask is None else mask[::-1]
    return ticks(clock, length, jnp.zeros((), dt.dtype), backwards, mask)[::-1]
