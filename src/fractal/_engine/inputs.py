"""What a sequence mixer is given, checked: samples, durations, padding."""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int


def check_sequence(u: ArrayLike, width: int) -> Float[Array, "time width"]:
    """The input of shape (time, width), in floating point."""
    array = _floating(u)
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"u must have shape (time, {width}), got {array.shape}")
    return array


def check_sample(u: ArrayLike, width: int) -> Float[Array, " width"]:
    """One sample of shape (width,), in floating point."""
    array = _floating(u)
    if array.shape != (width,):
        raise ValueError(f"u must have shape ({width},), got {array.shape}")
    return array


def check_durations(dt: ArrayLike | None, length: int, dtype: jnp.dtype) -> Float[Array, "*time"]:
    """How long samples last: one number, 1 by default, or one for each step."""
    durations = jnp.asarray(1.0 if dt is None else dt, dtype)
    if durations.shape not in ((), (length,)):
        raise ValueError(f"dt must be a number or have shape ({length},), got {durations.shape}")
    return durations


def check_mask(mask: ArrayLike | None, length: int) -> Bool[Array, " time"] | None:
    """False where there is padding."""
    if mask is None:
        return None
    if (end := end_of(mask)) is not None:
        return jnp.arange(length) < end
    array = jnp.asarray(mask, bool)
    if array.shape != (length,):
        raise ValueError(f"mask must be a count or have shape ({length},), got {array.shape}")
    return array


def end_of(mask: ArrayLike | None) -> Int[Array, ""] | None:
    """How many steps come before the padding, where the mask says no more than that.

    Nothing that is read then comes after the padding in the scan, so zeros will do for it, and all
    steps stay alike. A step in the midst of others must stop the clock instead.
    """
    if mask is None:
        return None
    array = jnp.asarray(mask)
    is_count = array.ndim == 0 and jnp.issubdtype(array.dtype, jnp.integer)
    return array if is_count else None


def without_padding(
    u: Float[Array, "time width"], mask: Bool[Array, " time"] | None
) -> Float[Array, "time width"]:
    """The input with zeros where there is padding, whatever stood there, even NaN."""
    return u if mask is None else jnp.where(mask[:, None], u, 0.0)


def last_state(
    x: Float[Array, "time modes"], end: Int[Array, ""] | None, start: Float[Array, " modes"]
) -> Float[Array, " modes"]:
    """The state before the padding, of all states."""
    return x[-1] if end is None else jnp.where(end > 0, x[jnp.maximum(end, 1) - 1], start)


def _floating(u: ArrayLike) -> Float[Array, "..."]:
    """The input as it is, or as floating point where it is of whole numbers."""
    array = jnp.asarray(u)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
