"""The linear recurrence x_k = a_k x_{k−1} + b_k as a function of arrays."""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Inexact

from .._checks import check_choice, check_flag
from .._options import METHODS
from .inputs import check_array
from .pair import Pair, complex_to_real, real_to_complex
from .recurrence import Scans, scan
from .sharding import check_axis, varying


def linear_scan(
    a: ArrayLike,
    b: ArrayLike,
    h0: ArrayLike | None = None,
    *,
    reverse: bool = False,
    method: str = "auto",
    axis_name: str | None = None,
) -> Inexact[Array, "time *shape"]:
    """All states of x_k = a_k x_{k−1} + b_k along the first axis, from x_{−1} = h0.

    **Arguments:**

    - `a`: decay factors (gates), of the shape of b, or without the time axis if they are constant.
    - `b`: inputs, real or complex.
    - `h0`: state before the first step (after the last one if `reverse`); zero by default.
    - `reverse`: scan from the last step to the first.
    - `method`: `"sequential"`, a loop over steps; `"associative"`, a parallel prefix sum;
      `"chunked"`, a loop over chunks of 16 steps; `"auto"`, the last on CPUs, and on GPUs and TPUs
      chunks that are combined in logarithmic depth.
    - `axis_name`: inside `jax.shard_map`, the mesh axis over which time is sharded. `a` (if it has
      a time axis) and `b` are then the parts of one device, and h0 is the same on all of them.

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
    h0 = None if h0 is None else check_array("h0", h0)
    if h0 is not None and h0.shape != b.shape[1:]:
        raise ValueError(f"h0 must have shape {b.shape[1:]}, got {h0.shape}")
    check_choice("method", method, METHODS)
    check_axis(axis_name)
    scans = Scans(method, (check_flag("reverse", reverse),), axis_name)
    with jax.numpy_dtype_promotion("standard"):  # real gates with complex inputs are supported
        dtype = jnp.result_type(a, b) if h0 is None else jnp.result_type(a, b, h0)
    if not jnp.issubdtype(dtype, jnp.inexact):
        raise ValueError(f"a, b and h0 must be real or complex floating point, got {dtype}")
    if b.size == 0:
        return b.astype(dtype)
    gates = a.astype(dtype).reshape(*a.shape[: a.ndim - b.ndim + 1], -1)
    inputs = b.astype(dtype).reshape(len(b), -1)
    start = None if h0 is None else h0.astype(dtype).reshape(-1)
    gates, start = varying(axis_name, (gates, start))
    if not jnp.issubdtype(dtype, jnp.complexfloating):
        return scan(scans, (Pair(gates, None),), (inputs,), (start,)).reshape(b.shape)
    start = None if start is None else complex_to_real(start)
    pair = Pair(gates.real, gates.imag)
    x = scan(scans, (pair,), (complex_to_real(inputs),), (start,))
    return real_to_complex(x).reshape(b.shape)
