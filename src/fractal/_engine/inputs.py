"""Validation of the arguments of sequence mixers: inputs, durations, padding, state.

Shapes are checked during tracing. Values are checked before compilation if they are concrete; they
are not inside `jax.jit`, `jax.vmap` or `jax.grad`.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .sharding import check_axis, from_last, from_owner, part_number, total_length

F = TypeVar("F", bound=Callable)


class Padding(NamedTuple):
    """Padding of a sequence: `kept` is True at real steps, and None without padding.

    `end` is the number of real steps if all of them precede the padding, otherwise None. If time is
    sharded it is relative to the start of this device's part, and may lie outside of it. Trailing
    padding affects no output that is used, so its input is set to zero and the step size stays
    constant. Padding between real steps needs an elapsed time of zero.
    """

    kept: Bool[Array, " time"] | None
    end: Int[Array, ""] | None


def compiled_call(call: F) -> F:
    """Validate concrete values, then call `__call__(u, state, dt, lengths, mask)` compiled.

    `axis_name` is passed to calls that have this argument; others raise if it is given.
    """

    @functools.partial(jax.jit, static_argnums=6)
    def run(self, u, state, dt, lengths, mask, axis_name):
        if state is not None:
            check_state(self, state)
        sharded = {} if axis_name is None else {"axis_name": axis_name}
        return call(self, u, state, dt, lengths, mask, **sharded)

    @functools.wraps(call)
    def wrapper(self, u, state=None, dt=None, lengths=None, mask=None, *, axis_name=None):
        check_sharded_call(self, call, axis_name)
        u = check_array("u", u)
        check_concrete(dt, lengths, mask, time=total_length(len(u) if u.ndim else 0, axis_name))
        return _call_checked(run, self, u, state, dt, lengths, mask, axis_name)

    return cast(F, wrapper)


def check_sharded_call(module: Any, call: Callable, axis_name: str | None) -> None:
    """Raise `ValueError` if `axis_name` is given and no mesh axis, or no argument of the call."""
    if axis_name is None:
        return
    check_axis(axis_name)
    if not accepts_axis_name(call):
        raise ValueError(
            f"{type(module).__name__} cannot process a sequence sharded along time: "
            "axis_name must be None"
        )


def accepts_axis_name(call: Callable) -> bool:
    """Whether a call has the argument `axis_name`, for sequences sharded along time."""
    parameters = inspect.signature(call).parameters.values()
    return any(p.name == "axis_name" or p.kind is p.VAR_KEYWORD for p in parameters)


def compiled_step(step: F) -> F:
    """Validate concrete values, then call `step(u, state, dt)` compiled."""

    @jax.jit
    def run(self, u, state, dt):
        check_state(self, state)
        return step(self, u, state, dt)

    @functools.wraps(step)
    def wrapper(self, u, state, dt=None):
        u = check_array("u", u)
        check_concrete(dt)
        return _call_checked(run, self, u, state, dt)

    return cast(F, wrapper)


def _call_checked(run: Callable, mixer: Any, u: Array, state: Any, *arguments: Any) -> Any:
    """Call a compiled function; report an invalid state as such if JAX raises `TypeError`."""
    try:
        return run(mixer, u, state, *arguments)
    except TypeError:
        if state is not None:
            check_state(mixer, state)
        raise


def check_state(mixer: Any, state: Any) -> None:
    """Raise `ValueError` for a state that does not match `mixer.initial_state()`.

    Axes of initial length zero may have any length.
    """
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


def check_concrete(
    dt: Any = None, lengths: Any = None, mask: Any = None, *, time: int | None = None
) -> None:
    """Raise `ValueError` for invalid concrete values of `dt`, `lengths` and `mask`."""
    if dt is not None and (durations := _concrete("dt", dt)) is not None:
        if not np.issubdtype(durations.dtype, np.number) or np.iscomplexobj(durations):
            raise ValueError(f"dt must be a real number, or one per step, got {dt!r}")
        if not (np.isfinite(durations) & (durations >= 0)).all():
            raise ValueError("dt must be finite and not negative")
    if mask is not None and lengths is not None:
        raise ValueError("pass either lengths or mask, not both")
    if lengths is not None and (counts := _concrete("lengths", lengths)) is not None:
        if not np.issubdtype(counts.dtype, np.integer):
            raise ValueError(f"lengths must be an integer number of steps, got {lengths!r}")
        if time is not None and not ((counts >= 0) & (counts <= time)).all():
            raise ValueError(f"lengths must lie in [0, {time}], the number of steps")
    if mask is not None and (kept := _concrete("mask", mask)) is not None and kept.dtype != bool:
        raise ValueError(f"mask must be boolean, got {kept.dtype}; use lengths for a count")


def check_tokens(x: Array | np.ndarray, vocabulary: int, name: str = "x") -> None:
    """Raise `ValueError` for concrete token ids outside of the vocabulary."""
    ids = _concrete(name, x) if x.size else None
    if ids is not None and not 0 <= ids.min() <= ids.max() < vocabulary:
        raise ValueError(
            f"{name} must contain tokens below {vocabulary}, got {ids.min()} … {ids.max()}"
        )


def _concrete(name: str, value: Any) -> np.ndarray | None:
    """The value as a NumPy array; None if it is traced."""
    if isinstance(value, jax.core.Tracer):
        return None
    if not isinstance(value, jax.Array):
        # Not jnp.asarray, which returns a tracer inside a traced function.
        value = _numbers(name, value, np.asarray)
    return np.asarray(value)


def check_array(name: str, value: Any) -> Array:
    """Convert an argument to a JAX array of numbers."""
    return value if isinstance(value, jax.Array) else _numbers(name, value, jnp.asarray)


def _numbers(name: str, value: Any, make: Callable[[Any], Any]) -> Any:
    try:
        array = make(value)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.dtype.kind in "OSUM":
        raise ValueError(f"{name} must be an array of numbers, got {_describe(value)}")
    return array


def _describe(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def check_key(key: Any) -> PRNGKeyArray:
    """Validate a random key, of `jax.random.key` or `jax.random.PRNGKey`."""
    if isinstance(key, jax.Array | np.ndarray):
        old = key.shape == (2,) and key.dtype == np.uint32
        if old or (key.shape == () and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)):
            return jnp.asarray(key)
    raise ValueError(f"key must be one random key, such as jax.random.key(0), got {_describe(key)}")


def check_sequence(u: ArrayLike, width: int) -> Float[Array, "time width"]:
    """Validate an input of shape (time, width); integers are converted to floating point."""
    array = _floating(u)
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"u must have shape (time, {width}), got {array.shape}")
    return array


def check_sample(u: ArrayLike, width: int) -> Float[Array, " width"]:
    """Validate a sample of shape (width,); integers are converted to floating point."""
    array = _floating(u)
    if array.shape != (width,):
        raise ValueError(f"u must have shape ({width},), got {array.shape}")
    return array


def check_durations(dt: ArrayLike | None, length: int, dtype: jnp.dtype) -> Float[Array, "*time"]:
    """Validate durations of the samples: a scalar, 1 by default, or one per step."""
    durations = jnp.asarray(1.0 if dt is None else dt, dtype)
    if durations.shape not in ((), (length,)):
        raise ValueError(f"dt must be a number or have shape ({length},), got {durations.shape}")
    return durations


def check_padding(
    lengths: ArrayLike | None, mask: ArrayLike | None, time: int, axis_name: str | None = None
) -> Padding:
    """Padding from the number of real steps, or from a boolean mask that is False at padding.

    If time is sharded, `lengths` counts the steps of all parts; `mask` is that of one part.

    **Raises:** `ValueError` if both are given, or if their shape or dtype is wrong.
    """
    if lengths is not None and mask is not None:
        raise ValueError("pass either lengths or mask, not both")
    if lengths is not None:
        end = jnp.asarray(lengths)
        if end.shape != () or not jnp.issubdtype(end.dtype, jnp.integer):
            raise ValueError(
                f"lengths must be one integer per sequence, got {end.dtype}{end.shape}"
            )
        end = end.astype(int)
        if axis_name is not None:
            end = end - part_number(axis_name) * time
        return Padding(jnp.arange(time) < end, end)
    if mask is None:
        return Padding(None, None)
    kept = jnp.asarray(mask)
    if kept.shape != (time,) or kept.dtype != bool:
        raise ValueError(
            f"mask must be boolean, of shape ({time},), got {kept.dtype}{kept.shape}; "
            "use lengths for a count"
        )
    return Padding(kept, None)


def mask_padding(
    u: Float[Array, "time width"], kept: Bool[Array, " time"] | None
) -> Float[Array, "time width"]:
    """Set the input to zero at padding, which removes NaN and infinity there."""
    return u if kept is None else jnp.where(kept[:, None], u, 0.0)


def last_state(
    x: Float[Array, "time modes"],
    end: Int[Array, ""] | None,
    start: Float[Array, " modes"],
    axis_name: str | None = None,
) -> Float[Array, " modes"]:
    """The state after the last real step of all parts; `start` if there is none."""
    if axis_name is None:
        return x[-1] if end is None else jnp.where(end > 0, x[jnp.maximum(end, 1) - 1], start)
    if end is None:
        return from_last(axis_name, None, x[-1])
    state = jnp.where(end > 0, x[jnp.clip(end, 1, len(x)) - 1], start)
    # Without any real step the first part has the state, which is `start`.
    return from_owner(
        axis_name, (end <= len(x)) & ((end > 0) | (part_number(axis_name) == 0)), state
    )


def _floating(u: ArrayLike) -> Float[Array, "..."]:
    """Convert integers to floating point; other dtypes are unchanged."""
    array = jnp.asarray(u)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise ValueError(f"u must be real, got {array.dtype}")
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)
