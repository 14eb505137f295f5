"""Clocks: the elapsed time of each step, in the time variable s of the modes.

On the uniform clock s = t. On the scale-invariant clock s = log t, so that the final state does not
depend on the speed of the signal. The elapsed time of a masked step is zero.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

CLOCKS = ("uniform", "scale-invariant")


def elapsed_per_step(
    clock: str,
    length: int,
    time: Float[Array, ""],
    dt: Float[Array, "*steps"],
    mask: Bool[Array, " time"] | None,
) -> Float[Array, "..."]:
    """Elapsed time per step; a scalar if it is constant.

    On the scale-invariant clock the elapsed time of the first sample is infinite, which extends
    this sample into the past.

    **Arguments:**

    - `time`: time before the first step.
    - `dt`: durations of the samples.
    - `mask`: False at steps to skip.
    """
    if clock == "uniform":
        return dt if mask is None else jnp.where(mask, dt, 0.0)
    durations = jnp.broadcast_to(dt, (length,))
    if mask is not None:
        durations = jnp.where(mask, durations, 0.0)
    ends = time + jnp.cumsum(durations)
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
