"""The linear recurrence x_k = a_k x_{k−1} + b_k: public entry point and three methods."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Inexact

from .._checks import check_choice, check_flag
from .chunked import scan
from .implicit import differentiable
from .inputs import check_array
from .parts import Parts, complex_to_real, real_to_complex


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

    - `a`: gates, of the shape of b, or without the time axis if they are constant.
    - `b`: inputs, real or complex.
    - `h0`: state before the first step (after the last one if `reverse`); zero by default.
    - `reverse`: scan from the last step to the first.
    - `method`: `"sequential"`, a loop; `"associative"`, a parallel prefix sum; `"chunked"`, a
      two-level scan; `"auto"`, the fastest of them on the default backend.

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
            f"a must have b's shape {b.shape}, or {b.shape[1:]} if it is constant, got {a.shape}"
        )
    h0 = jnp.zeros(b.shape[1:], b.dtype) if h0 is None else check_array("h0", h0)
    if h0.shape != b.shape[1:]:
        raise ValueError(f"h0 must have shape {b.shape[1:]}, got {h0.shape}")
    reverse = check_flag("reverse", reverse)
    check_choice("method", method, ("auto", *_METHODS))
    with jax.numpy_dtype_promotion("standard"):  # real gates with complex inputs are supported
        dtype = jnp.result_type(a, b, h0)
    if not jnp.issubdtype(dtype, jnp.inexact):
        raise ValueError(f"a, b and h0 must be real or complex floating point, got {dtype}")
    if b.size == 0:
        return b.astype(dtype)
    run = _METHODS[_choose() if method == "auto" else method]
    return run(reverse, (a.astype(dtype),), b.astype(dtype), h0.astype(dtype))


def _choose() -> str:
    """The loop on CPUs, where it is fastest at nearly all sizes (`fractal bench scan`).

    The associative scan elsewhere, for its logarithmic depth. The chunked scan pays off only in
    layers, which use its data layout throughout.
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
    """The two-level scan, after conversion to its layout: two real dimensions."""
    (a,) = gates
    a = a.reshape(*a.shape[: a.ndim - b.ndim + 1], -1)
    if not jnp.issubdtype(b.dtype, jnp.complexfloating):
        return scan(reverse, (a,), b.reshape(len(b), -1), h0.reshape(-1)).reshape(b.shape)
    inputs = complex_to_real(b.reshape(len(b), -1))
    x = scan(reverse, (a.real, a.imag), inputs, complex_to_real(h0.reshape(-1)))
    return real_to_complex(x).reshape(b.shape)


_METHODS = {
    "sequential": differentiable(_sequential),
    "associative": differentiable(_associative),
    "chunked": _chunked,  # `scan` is differentiable already
}
