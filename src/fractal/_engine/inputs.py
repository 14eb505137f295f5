"""Checks of what a sequence mixer is called with: samples, durations, padding, state.

Shapes are checked while a call is traced. Values are checked before it is compiled, where they are
known: inside of `jax.jit`, `jax.vmap` or `jax.grad` they are not.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

F = TypeVar("F", bound=Callable)


class Padding(NamedTuple):
    """Which steps are real; None where all are.

    `end` counts them where they all come first. Nothing that is read then follows the padding in
    the scan, so zeros serve as its input and all steps stay equal. Padding between real steps must
    stop the clock instead.
    """

    kept: Bool[Array, " time"] | None
    end: Int[Array, ""] | None


def compiled_call(call: F) -> F:
    """Compile a mixer's `__call__(u, state, dt, lengths, mask)`, after checks of known values."""

    @jax.jit
    def run(self, u, state, dt, lengths, mask):
        if state is not None:
            check_state(self, state)
        return call(self, u, state, dt, lengths, mask)

    @functools.wraps(call)
    def wrapper(self, u, state=None, dt=None, lengths=None, mask=None):
        u = check_array("u", u)
        check_known(dt, lengths, mask, time=len(u) if u.ndim else 0)
        return _diagnosed(run, self, u, state, dt, lengths, mask)

    return wrapper  # type: ignore[return-value]  # the signature is that of `call`


def compiled_step(step: F) -> F:
    """Compile a mixer's `step(u, state, dt)`, after checks of known values."""

    @jax.jit
    def run(self, u, state, dt):
        check_state(self, state)
        return step(self, u, state, dt)

    @functools.wraps(step)
    def wrapper(self, u, state, dt=None):
        u = check_array("u", u)
        check_known(dt)
        return _diagnosed(run, self, u, state, dt)

    return wrapper  # type: ignore[return-value]  # the signature is that of `step`


def _diagnosed(run: Callable, mixer: Any, u: Array, state: Any, *rest: Any) -> Any:
    """Run a compiled function; if JAX refuses its arguments, say whether the state is to blame."""
    try:
        return run(mixer, u, state, *rest)
    except TypeError:
        if state is not None:
            check_state(mixer, state)
        raise


def check_state(mixer: Any, state: Any) -> None:
    """Refuse a state that the mixer did not make. A dimension that starts at zero may grow."""
    expected = jax.eval_shape(mixer.initial_state)
    same = jax.tree.structure(state) == jax.tree.structure(expected)
    if not same or not all(map(_fits, jax.tree.leaves(state), jax.tree.leaves(expected))):
        raise ValueError(
            f"state must be one that this {type(mixer).__name__} returned, or initial_state()"
        )


def _fits(found: Any, expected: jax.ShapeDtypeStruct) -> bool:
    shape = getattr(found, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != len(expected.shape):
        return False
    return all(b in (0, a) for a, b in zip(shape, expected.shape, strict=True))


def check_known(
    dt: Any = None, lengths: Any = None, mask: Any = None, *, time: int | None = None
) -> None:
    """Refuse values of durations and padding that cannot be, where they are known."""
    if dt is not None and (durations := _known("dt", dt)) is not None:
        if not np.issubdtype(durations.dtype, np.number) or np.iscomplexobj(durations):
            raise ValueError(f"dt must be a real number, or one per step, got {dt!r}")
        if not (np.isfinite(durations) & (durations >= 0)).all():
            raise ValueError("dt must be finite and not negative")
    if mask is not None and lengths is not None:
        raise ValueError("give lengths or mask, not both")
    if lengths is not None and (counts := _known("lengths", lengths)) is not None:
        if not np.issubdtype(counts.dtype, np.integer):
            raise ValueError(f"lengths must be a whole number of steps, got {lengths!r}")
        if time is not None and not ((counts >= 0) & (counts <= time)).all():
            raise ValueError(f"lengths must lie in [0, {time}], the number of steps")
    if mask is not None and (kept := _known("mask", mask)) is not None and kept.dtype != bool:
        raise ValueError(f"mask must be boolean, got {kept.dtype}; lengths takes a count")


def check_tokens(x: Array, vocabulary: int) -> None:
    """Refuse token ids that are not in the vocabulary, where they are known."""
    ids = _known("x", x) if x.size else None
    if ids is not None and not 0 <= ids.min() <= ids.max() < vocabulary:
        raise ValueError(f"x must hold tokens below {vocabulary}, got {ids.min()} … {ids.max()}")


def _known(name: str, value: Any) -> np.ndarray | None:
    """The value as a NumPy array; None while it is traced."""
    if isinstance(value, jax.core.Tracer):
        return None
    if not isinstance(value, jax.Array):
        # Not by jnp.asarray, which would trace it where the call is traced.
        value = _numbers(name, value, np.asarray)
    return np.asarray(value)


def check_array(name: str, value: Any) -> Array:
    """The argument as a JAX array of numbers."""
    return value if isinstance(value, jax.Array) else _numbers(name, value, jnp.asarray)


def _numbers(name: str, value: Any, make: Callable[[Any], Any]) -> Any:
    try:
        array = make(value)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.dtype.kind in "OSUM":
        raise ValueError(f"{name} must be an array of numbers, got {_shown(value)}")
    return array


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def check_key(key: Any) -> PRNGKeyArray:
    """A key of `jax.random.key`, or of the older `jax.random.PRNGKey`."""
    if isinstance(key, jax.Array | np.ndarray):
        old = key.shape == (2,) and key.dtype == np.uint32
        if old or (key.shape == () and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)):
            return jnp.asarray(key)
    raise ValueError(f"key must be one random key, such as jax.random.key(0), got {_shown(key)}")


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
    """Durations of the samples: one number for all, 1 by default, or one per step."""
    durations = jnp.asarray(1.0 if dt is None else dt, dtype)
    if durations.shape not in ((), (length,)):
        raise ValueError(f"dt must be a number or have shape ({length},), got {durations.shape}")
    return durations


def check_padding(lengths: ArrayLike | None, mask: ArrayLike | None, time: int) -> Padding:
    """Padding from the number of real steps, or from a boolean mask that is False at padding."""
    if lengths is not None and mask is not None:
        raise ValueError("give lengths or mask, not both")
    if lengths is not None:
        end = jnp.asarray(lengths)
        if end.shape != () or not jnp.issubdtype(end.dtype, jnp.integer):
            raise ValueError(
                f"lengths must be one whole number for one sequence, got {end.dtype}{end.shape}"
            )
        return Padding(jnp.arange(time) < end, end)
    if mask is None:
        return Padding(None, None)
    kept = jnp.asarray(mask)
    if kept.shape != (time,) or kept.dtype != bool:
        raise ValueError(
            f"mask must be boolean, of shape ({time},), got {kept.dtype}{kept.shape}; "
            "lengths takes a count"
        )
    return Padding(kept, None)


def without_padding(
    u: Float[Array, "time width"], kept: Bool[Array, " time"] | None
) -> Float[Array, "time width"]:
    """The input with zeros in place of padding, so that not even NaN gets through."""
    return u if kept is None else jnp.where(kept[:, None], u, 0.0)


def last_state(
    x: Float[Array, "time modes"], end: Int[Array, ""] | None, start: Float[Array, " modes"]
) -> Float[Array, " modes"]:
    """The state after the last real step."""
    return x[-1] if end is None else jnp.where(end > 0, x[jnp.maximum(end, 1) - 1], start)


def _floating(u: ArrayLike) -> Float[Array, "..."]:
    """The input as it is, or as floating point where it holds integers."""
    array = jnp.asarray(u)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise ValueError(f"u must be real, got {array.dtype}")
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
