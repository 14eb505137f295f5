"""Clocks: the elapsed time of each step, in the time variable s of the modes.

On the uniform clock s = t. On the scale-invariant clock s = log t, so that the final state does not
depend on the speed of the signal. The elapsed time of a masked step is zero.

`time` may have trailing axes, for several clocks that share the steps; durations and elapsed times
then have the same axes after the axis of time.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ._running_sum import accumulate

CLOCKS = ("uniform", "scale-invariant")


def elapsed_per_step(
    clock: str,
    length: int,
    time: Float[Array, "*clocks"],
    dt: Float[Array, "..."],
    mask: Bool[Array, " time"] | None,
) -> Float[Array, "..."]:
    """Elapsed time per step; without an axis of time if it is constant.

    On the scale-invariant clock the elapsed time of the first sample is infinite, which extends
    this sample into the past.

    **Arguments:**

    - `time`: time before the first step.
    - `dt`: durations of the samples, of the shape of `time`, or with an axis of time before it.
    - `mask`: False at steps to skip.
    """
    if clock == "uniform" and mask is None:
        return dt
    durations = _per_step(length, time, dt, mask)
    if clock == "uniform":
        return durations
    ends = time[None] + jnp.cumsum(durations, axis=0)
    starts = jnp.concatenate([time[None], ends[:-1]])
    begun = starts > 0
    # Both `where` are needed: the unused branch must have a finite gradient too.
    elapsed = jnp.log1p(durations / jnp.where(begun, starts, 1.0))
    return jnp.where(begun, elapsed, jnp.where(durations > 0, jnp.inf, 0.0))


def reversed_elapsed(
    clock: str, length: int, dt: Float[Array, "*steps"], mask: Bool[Array, " time"] | None
) -> Float[Array, "..."]:
    """Elapsed time per step of the reverse scan, whose time starts at the last sample."""
    if clock == "uniform":
        return elapsed_per_step(clock, length, jnp.zeros((), dt.dtype), dt, mask)
    backward = jnp.broadcast_to(dt, (length,))[::-1]
    mask = None if mask is None else mask[::-1]
    return elapsed_per_step(clock, length, jnp.zeros((), dt.dtype), backward, mask)[::-1]


def advance(
    time: Float[Array, "*clocks"],
    lost: Float[Array, "2 *clocks"],
    length: int,
    dt: Float[Array, "..."],
    mask: Bool[Array, " time"] | None,
) -> tuple[Float[Array, "*clocks"], Float[Array, "2 *clocks"]]:
    """The time after `length` steps, and what its rounding removed; see `accumulate`."""
    if dt.ndim == time.ndim:
        count = jnp.asarray(length) if mask is None else mask.sum()
        return accumulate(time, lost, dt * count.astype(dt.dtype))
    return accumulate(time, lost, _per_step(length, time, dt, mask).sum(axis=0))


def _per_step(
    length: int,
    time: Float[Array, "*clocks"],
    dt: Float[Array, "..."],
    mask: Bool[Array, " time"] | None,
) -> Float[Array, "time *clocks"]:
    """Durations with an axis of time, zero at steps to skip."""
    durations = jnp.broadcast_to(dt, (length, *time.shape))
    if mask is None:
        return durations
    return jnp.where(jnp.expand_dims(mask, tuple(range(1, durations.ndim))), durations, 0.0)
