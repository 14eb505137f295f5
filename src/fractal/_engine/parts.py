"""Complex numbers as real and imaginary halves, side by side in the last axis.

Projections to and from such arrays are plain real matrix products. In the recurrence the parts
stay apart, (x,) of an ordinary array and (real, imaginary) of halves: XLA then keeps each pass in
one loop, where joined halves would be copied.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float

Parts = tuple[Array, ...]


def to_halves(x: Complex[Array, "*shape"], axis: int = -1) -> Float[Array, "..."]:
    """Real and imaginary parts side by side in one axis."""
    return jnp.concatenate([x.real, x.imag], axis)


def from_halves(x: Float[Array, "..."], axis: int = -1) -> Complex[Array, "..."]:
    """Undo `to_halves`."""
    return lax.complex(*jnp.split(x, 2, axis))


def split(count: int, x: Array) -> Parts:
    """The parts of an array: itself, or two halves."""
    return (x,) if count == 1 else tuple(jnp.split(x, count, axis=-1))


def join(x: Parts) -> Array:
    """Undo `split`."""
    return jnp.concatenate(x, axis=-1) if len(x) == 2 else x[0]


def plus(x: Parts, y: Parts) -> Parts:
    """The sum."""
    return tuple(p + q for p, q in zip(x, y, strict=True))


def minus(x: Parts, y: Parts) -> Parts:
    """The difference."""
    return tuple(p - q for p, q in zip(x, y, strict=True))


def times(a: Parts, x: Parts) -> Parts:
    """The product."""
    if len(a) == 1:
        return (a[0] * x[0],)
    return a[0] * x[0] - a[1] * x[1], a[0] * x[1] + a[1] * x[0]


def transpose(a: Parts) -> Parts:
    """What multiplies in the transpose of `times(a, ·)`: for halves, the conjugate."""
    return (a[0], -a[1]) if len(a) == 2 else a
