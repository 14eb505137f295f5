"""The linear recurrence x_k = a_k x_{k−1} + b_k: one front door, three methods."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Inexact

from .._checks import check_choice, check_flag
from .chunked import scan
from .implicit import differentiable
from .inputs import check_array
from .parts import Parts, from_halves, to_halves


def linear_scan(
    a: ArrayLike,
    b: ArrayLike,
    h0: ArrayLike | None = None,
    *,
    reverse: bool = False,
    method: str = "auto",
) -> Inexact[Array, "time *shape"]:
    """All states of x_k = a_k x_{k−1} + b_k along the first axis, from x_{−1} = h0.

    **Arguments:**

    - `a`: gates, of b's shape, or without the time axis where they do not change.
    - `b`: inputs, real or complex.
    - `h0`: state before the first step (after the last one, for `reverse`); zero by default.
    - `reverse`: run from the last step to the first.
    - `method`: `"sequential"`, one step after the other; `"associative"`, a parallel prefix sum;
      `"chunked"`, in two levels; `"auto"` picks the fastest for the backend.

    >>> import jax.numpy as jnp
    >>> from fractal.nn import linear_scan
    >>> linear_scan(jnp.array(0.5), jnp.array([1.0, 1.0, 1.0]))
    Array([1.  , 1.5 , 1.75], dtype=float32)
    """
    a, b = check_array("a", a), check_array("b", b)
    if b.ndim == 0:
        raise ValueError("b must have a time axis, got a scalar")
    if a.shape not in (b.shape, b.shape[1:]):
        raise ValueError(
            f"a must have b's shape {b.shape}, or {b.shape[1:]} where it is constant, got {a.shape}"
        )
    h0 = jnp.zeros(b.shape[1:], b.dtype) if h0 is None else check_array("h0", h0)
    if h0.shape != b.shape[1:]:
        raise ValueError(f"h0 must have shape {b.shape[1:]}, got {h0.shape}")
    reverse = check_flag("reverse", reverse)
    check_choice("method", method, ("auto", *_METHODS))
    dtype = jnp.result_type(a, b, h0)
    if not jnp.issubdtype(dtype, jnp.inexact):
        raise ValueError(f"a, b and h0 must be real or complex floating point, got {dtype}")
    if b.size == 0:
        return b.astype(dtype)
    run = _METHODS[_choose() if method == "auto" else method]
    return run(reverse, (a.astype(dtype),), b.astype(dtype), h0.astype(dtype))


def _choose() -> str:
    """On a CPU a compiled loop wins at nearly every size (`fractal bench scan`); else depth counts.

    The chunked scan comes close only with gradients of long and wide inputs: it is made for layers
    that keep its layout.
    """
    return "sequential" if jax.default_backend() == "cpu" else "associative"


def _sequential(reverse: bool, gates: Parts, b: Array, h0: Array) -> Array:
    (a,) = gates
    varying = a.ndim == b.ndim

    def step(x, now):
        x = (now[0] if varying else a) * x + now[-1]
        return x, x

    return lax.scan(step, h0, (a, b) if varying else (b,), reverse=reverse)[1]


def _associative(reverse: bool, gates: Parts, b: Array, h0: Array) -> Array:
    first = -1 if reverse else 0
    a = jnp.broadcast_to(gates[0], b.shape)
    b = b.at[first].add(a[first] * h0)

    def join(earlier, later):
        return later[0] * earlier[0], later[0] * earlier[1] + later[1]

    return lax.associative_scan(join, (a, b), reverse=reverse)[1]


def _chunked(reverse: bool, gates: Parts, b: Array, h0: Array) -> Array:
    """The two-level scan in its own layout: two dimensions, complex numbers as halves."""
    (a,) = gates
    a = a.reshape(*a.shape[: a.ndim - b.ndim + 1], -1)
    if not jnp.issubdtype(b.dtype, jnp.complexfloating):
        return scan(reverse, (a,), b.reshape(len(b), -1), h0.reshape(-1)).reshape(b.shape)
    halves = to_halves(b.reshape(len(b), -1))
    x = scan(reverse, (a.real, a.imag), halves, to_halves(h0.reshape(-1)))
    return from_halves(x).reshape(b.shape)


_METHODS = {
    "sequential": differentiable(_sequential),
    "associative": differentiable(_associative),
    "chunked": _chunked,  # its parts are differentiable
}
