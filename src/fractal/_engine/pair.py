"""Complex numbers as pairs of real arrays.

Products of real matrices and fused real loops are faster than complex ones, and every device has
them. At the border of the engine the two parts are concatenated along the last axis, so that a
projection is one real matrix product; within a recurrence they are separate arrays, so that XLA
fuses each pass over time into one loop per part.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Pair:
    """An array of complex numbers; `imag` is None for real numbers.

    Operators are elementwise. An operand of lower rank is broadcast over leading axes.
    """

    real: Array
    imag: Array | None

    @classmethod
    def split(cls, x: Float[Array, "... parts"], *, paired: bool) -> "Pair":
        """The inverse of `join`."""
        return cls(*jnp.split(x, 2, axis=-1)) if paired else cls(x, None)

    def join(self) -> Float[Array, "... parts"]:
        """Real and imaginary parts, concatenated along the last axis."""
        return self.real if self.imag is None else jnp.concatenate(self.parts, axis=-1)

    @property
    def parts(self) -> tuple[Array, ...]:
        """The real part, and the imaginary part of complex numbers."""
        return (self.real,) if self.imag is None else (self.real, self.imag)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.real.ndim

    def conj(self) -> "Pair":
        """The complex conjugate."""
        return self if self.imag is None else Pair(self.real, -self.imag)

    def complement(self) -> "Pair":
        """1 − self."""
        return Pair(1 - self.real, None if self.imag is None else -self.imag)

    def scale(self, factor: Float[Array, "..."]) -> "Pair":
        """The product with a real array."""
        return jax.tree.map(lambda part: factor * part, self)

    def __getitem__(self, index: Any) -> "Pair":
        return jax.tree.map(lambda part: part[index], self)

    def __add__(self, other: "Pair") -> "Pair":
        return jax.tree.map(lambda x, y: x + y, *_of_one_rank(self, other))

    def __sub__(self, other: "Pair") -> "Pair":
        return jax.tree.map(lambda x, y: x - y, *_of_one_rank(self, other))

    def __mul__(self, other: "Pair") -> "Pair":
        a, b = _of_one_rank(self, other)
        if a.imag is None or b.imag is None:
            return Pair(a.real * b.real, None)
        return Pair(
            a.real * b.real - a.imag * b.imag,
            a.real * b.imag + a.imag * b.real,
        )


def _of_one_rank(a: Pair, b: Pair) -> tuple[Pair, Pair]:
    rank = max(a.ndim, b.ndim)
    one, two = (jax.tree.map(lambda p: lax.broadcast_to_rank(p, rank), x) for x in (a, b))
    return one, two


def complex_to_real(x: Complex[Array, "*shape"], axis: int = -1) -> Float[Array, "..."]:
    """Concatenate real and imaginary parts along an axis."""
    return jnp.concatenate([x.real, x.imag], axis)


def real_to_complex(x: Float[Array, "..."], axis: int = -1) -> Complex[Array, "..."]:
    """Inverse of `complex_to_real`."""
    return lax.complex(*jnp.split(x, 2, axis))
