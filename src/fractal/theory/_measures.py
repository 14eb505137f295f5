"""The four HiPPO measures: densities and orthonormal polynomials."""

import abc
import dataclasses
from typing import SupportsIndex

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from .._checks import (
    check_ages,
    check_alpha,
    check_count,
    check_positive,
    check_real,
    check_unit_interval,
)
from ._basis import jacobi, laguerre, norms


class Measure(abc.ABC):
    """A family of probability measures μ^(t) on the past x ≤ t.

    `recent_share`, `basis` and `basis_mass` refer to a history of length t = 1. For the
    scale-invariant measures (Fractional, LegS) this is no restriction. For LagT and LegT it is the
    unit of `timescale` and `window`.
    """

    @abc.abstractmethod
    def _density_of_age(self, t: float, age: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Density at the absolute age t − x ≥ 0."""

    @abc.abstractmethod
    def _share(self, p: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."] | float:
        """Mass of the ages from 0 to p in a history of length 1."""

    @abc.abstractmethod
    def _basis(
        self, order: int, age: Float[np.ndarray, "points"]
    ) -> Float[np.ndarray, "order points"]:
        """Orthonormal polynomials at relative ages."""

    @abc.abstractmethod
    def _basis_mass(
        self, order: int, age: Float[np.ndarray, "points"]
    ) -> Float[np.ndarray, "order points"]:
        """∫ p_n dμ over the ages from 0 to `age`, in closed form."""

    def density(self, t: float, x: ArrayLike) -> Float[np.ndarray, "..."] | float:
        """μ^(t)(x), vectorized over x. Zero for x > t, infinite at a singularity."""
        t = check_positive("t", t)
        age = t - check_real("x", x)
        return np.where(age < 0, 0.0, self._density_of_age(t, np.maximum(age, 0.0)))[()]

    def recent_share(self, p: ArrayLike) -> Float[np.ndarray, "..."] | float:
        """Mass of the most recent fraction p of the history."""
        return np.array(self._share(check_unit_interval("p", p)))[()]

    def basis(self, order: SupportsIndex, ages: ArrayLike) -> Float[np.ndarray, "order points"]:
        """Orthonormal polynomials p_0 … p_{order−1} at relative ages; 0 is the present."""
        return self._basis(check_count("order", order, smallest=1), check_ages(ages))

    def basis_mass(
        self, order: SupportsIndex, ages: ArrayLike
    ) -> Float[np.ndarray, "order points"]:
        """∫ p_n dμ over the ages from 0 to each of `ages`, in closed form."""
        return self._basis_mass(check_count("order", order, smallest=1), check_ages(ages))


def check_measure(measure: Measure) -> Measure:
    """Raise `ValueError` if the argument is not a `Measure`."""
    if not isinstance(measure, Measure):
        raise ValueError(f"measure must be Fractional, LegS, LagT or LegT, got {measure!r}")
    return measure


@dataclasses.dataclass(frozen=True)
class Fractional(Measure):
    """Power law: μ^(t)(x) = (1−α) t^(α−1) (t−x)^(−α) on [0, t]; α = 0 is LegS."""

    alpha: float

    def __post_init__(self):
        object.__setattr__(self, "alpha", check_alpha(self.alpha))

    def _density_of_age(self, t, age):
        with np.errstate(divide="ignore"):
            density = (1 - self.alpha) / t * (age / t) ** -self.alpha
        return np.where(age <= t, density, 0.0)

    def _share(self, p):
        return p ** (1 - self.alpha)

    def _basis(self, order, age):
        """γ_n P_n^(−α,0)(1 − 2 age)."""
        return norms(self.alpha, order)[:, None] * jacobi(order, -self.alpha, 0.0, 1 - 2 * age)

    def _basis_mass(self, order, age):
        """age^(1−α) for n = 0, else (1−α) γ_n age^(1−α) (1−age) P_{n−1}^(1−α,1)/n (Rodrigues)."""
        n = np.arange(1, order)[:, None]
        tail = (1 - self.alpha) * norms(self.alpha, order)[1:, None] * (1 - age) / n
        inner = jacobi(order - 1, 1 - self.alpha, 1.0, 1 - 2 * age)
        return np.concatenate([np.ones_like(age)[None], tail * inner]) * age ** (1 - self.alpha)


@dataclasses.dataclass(frozen=True)
class LegS(Measure):
    """Uniform over the whole history: μ^(t)(x) = 1/t on [0, t]."""

    def _density_of_age(self, t, age):
        return np.where(age <= t, 1 / t, 0.0)

    def _share(self, p):
        return p

    def _basis(self, order, age):
        """Shifted Legendre polynomials, orthonormal."""
        return Fractional(0.0)._basis(order, age)

    def _basis_mass(self, order, age):
        """As for the fractional measure at α = 0."""
        return Fractional(0.0)._basis_mass(order, age)


@dataclasses.dataclass(frozen=True)
class LagT(Measure):
    """Exponential: μ^(t)(x) = exp(−(t−x)/timescale)/timescale for all x ≤ t."""

    timescale: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "timescale", check_positive("timescale", self.timescale))

    def _density_of_age(self, t, age):
        return np.exp(-age / self.timescale) / self.timescale

    def _share(self, p):
        # The support is unbounded: the mass of a history of length 1 is below one.
        return -np.expm1(-p / self.timescale)

    def _basis(self, order, age):
        """Laguerre polynomials in age/timescale."""
        return laguerre(order, age / self.timescale, np.ones_like(age))

    def _basis_mass(self, order, age):
        """∫_0^s L_n e^(−s) ds = e^(−s) (L_{n−1} − L_n), and 1 − e^(−s) for n = 0."""
        s = age / self.timescale
        weighted = laguerre(order, s, np.exp(-s / 2)) * np.exp(-s / 2)
        return np.concatenate([1 - weighted[:1], weighted[:-1] - weighted[1:]])


@dataclasses.dataclass(frozen=True)
class LegT(Measure):
    """Sliding window: μ^(t)(x) = 1/window on [t − window, t]."""

    window: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "window", check_positive("window", self.window))

    def _density_of_age(self, t, age):
        return np.where(age <= self.window, 1 / self.window, 0.0)

    def _share(self, p):
        return np.minimum(p / self.window, 1.0)

    def _basis(self, order, age):
        """Shifted Legendre polynomials on the window, zero beyond it."""
        inside = age <= self.window
        return np.where(inside, LegS()._basis(order, np.where(inside, age / self.window, 0.0)), 0.0)

    def _basis_mass(self, order, age):
        """As for LegS, on the window."""
        return LegS()._basis_mass(order, np.minimum(age / self.window, 1.0))
