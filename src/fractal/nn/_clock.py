"""Clocks: the elapsed time of each step, in the time variable s of the modes.

On the uniform clock s = t. On the scale-invariant clock s = log t, so that the final state does not
depend on the speed of the signal. The elapsed time of a masked step is zero.

`time` may have trailing axes, for several clocks that share the steps; durations and elapsed times
then have the same axes after the axis of time.

If time is sharded over a mesh axis, a part starts after the durations of all parts before it.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._engine.sharding import sum_before, total
from ._running_sum import accumulate


def elapsed_per_step(
    clock: str,
    length: int,
    time: Float[Array, "*clocks"],
    dt: Float[Array, "..."],
    mask: Bool[Array, " time"] | None,
    axis_name: str | None = None,
    reverse: bool = False,
) -> Float[Array, "..."]:
    """Elapsed time per step; without an axis of time if it is constant.

    On the scale-invariant clock the elapsed time of the first sample is infinite, which extends
    this sample into the past.

    **Arguments:**

    - `time`: time before the first step of all parts.
    - `dt`: durations of the samples, of the shape of `time`, or with an axis of time before it.
    - `mask`: False at steps to skip.
    - `axis_name`: the mesh axis over which time is sharded.
    - `reverse`: whether the steps, in reverse order here, follow those of later parts.
    """
    if clock == "uniform" and mask is None:
        return dt
    durations = _per_step(length, time, dt, mask)
    if clock == "uniform":
        return durations
    if axis_name is not None:
        time = time + sum_before(axis_name, reverse, durations.sum(axis=0))
    ends = time[None] + jnp.cumsum(durations, axis=0)
    starts = jnp.concatenate([time[None], ends[:-1]])
    begun = starts > 0
    # Both `where` are needed: the unused branch must have a finite gradient too.
    elapsed = _log_growth(durations, jnp.where(begun, starts, 1.0))
    return jnp.where(begun, elapsed, jnp.where(durations > 0, jnp.inf, 0.0))


def reversed_elapsed(
    clock: str,
    length: int,
    zero: Float[Array, "*clocks"],
    dt: Float[Array, "..."],
    mask: Bool[Array, " time"] | None,
    axis_name: str | None = None,
) -> Float[Array, "..."]:
    """Elapsed time per step of the reverse scan, whose time is `zero` before the last sample."""
    if clock == "uniform":
        return elapsed_per_step(clock, length, zero, dt, mask)
    backward = jnp.broadcast_to(dt, (length, *zero.shape))[::-1]
    mask = None if mask is None else mask[::-1]
    return elapsed_per_step(clock, length, zero, backward, mask, axis_name, reverse=True)[::-1]


def advance(
    time: Float[Array, "*clocks"],
    lost: Float[Array, "2 *clocks"],
    length: int,
    dt: Float[Array, "..."],
    mask: Bool[Array, " time"] | None,
    axis_name: str | None = None,
) -> tuple[Float[Array, "*clocks"], Float[Array, "2 *clocks"]]:
    """The time after `length` steps per part, and what its rounding removed; see `accumulate`."""
    if dt.ndim == time.ndim:
        count = total(axis_name, jnp.asarray(length) if mask is None else mask.sum())
        return accumulate(time, lost, dt * count.astype(dt.dtype))
    duration = _per_step(length, time, dt, mask).sum(axis=0)
    return accumulate(time, lost, total(axis_name, duration))


@jax.custom_jvp
def _log_growth(duration: Float[Array, "..."], time: Float[Array, "..."]) -> Float[Array, "..."]:
    """log((time + duration)/time)."""
    return jnp.log1p(duration / time)


@_log_growth.defjvp
def _(primals, tangents):
    # Squares of times, which may overflow, do not occur.
    (duration, time), (dduration, dtime) = primals, tangents
    end = time + duration
    return _log_growth(duration, time), dduration / end - (duration / end) * (dtime / time)


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
