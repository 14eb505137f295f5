"""Complex arrays as real arrays, with real and imaginary parts concatenated along one axis.

Projections to and from such arrays are real matrix products. Within the recurrence the parts are
separate arrays: (x,) for a real array, (real, imaginary) for a complex one. XLA then fuses each
pass into one loop, whereas concatenated parts would be copied.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float

Parts = tuple[Array, ...]


def complex_to_real(x: Complex[Array, "*shape"], axis: int = -1) -> Float[Array, "..."]:
    """Concatenate real and imaginary parts along an axis."""
    return jnp.concatenate([x.real, x.imag], axis)


def real_to_complex(x: Float[Array, "..."], axis: int = -1) -> Complex[Array, "..."]:
    """Inverse of `complex_to_real`."""
    return lax.complex(*jnp.split(x, 2, axis))


def split(count: int, x: Array) -> Parts:
    """Split the last axis: one part for a real array, two for real and imaginary parts."""
    return (x,) if count == 1 else tuple(jnp.split(x, count, axis=-1))


def join(x: Parts) -> Array:
    """Inverse of `split`."""
    return jnp.concatenate(x, axis=-1) if len(x) == 2 else x[0]


def add(x: Parts, y: Parts) -> Parts:
    """Elementwise x + y."""
    return tuple(p + q for p, q in zip(x, y, strict=True))


def subtract(x: Parts, y: Parts) -> Parts:
    """Elementwise x − y."""
    return tuple(p - q for p, q in zip(x, y, strict=True))


def multiply(a: Parts, x: Parts) -> Parts:
    """Elementwise a · x, complex if there are two parts; a may lack leading axes of x."""
    a = tuple(lax.broadcast_to_rank(p, x[0].ndim) for p in a)
    if len(a) == 1:
        return (a[0] * x[0],)
    return a[0] * x[0] - a[1] * x[1], a[0] * x[1] + a[1] * x[0]


def transpose(a: Parts) -> Parts:
    """The factor of the transpose of x ↦ a · x as a real linear map: the conjugate of a."""
    return (a[0], -a[1]) if len(a) == 2 else a
