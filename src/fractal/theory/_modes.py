"""The fractional memory as a set of exponential averages in log time: one scan for every α."""

import dataclasses
from typing import SupportsIndex

import numpy as np
from jaxtyping import Complex

from ._arguments import check_alpha, check_order
from ._operators import fractional_pair

# Above this κ(V) rounding passes 1e-10; only operators near LegS do (κ ≈ 50/α at N = 64).
_LARGEST_CONDITION = 1e6
# Circle around such an α. The error falls like radius^points, κ(V) grows like 1/radius: these
# two give 1e-10 up to order 256.
_RADIUS, _POINTS = 3e-3, 4


@dataclasses.dataclass(frozen=True, eq=False)
class Modes:
    """x = Re(readout · z) with dz_j/ds = rate_j (u − z_j): each mode is an average of the input.

    Of a conjugate pair only one mode is kept, and the readout counts it twice.
    """

    rates: Complex[np.ndarray, " modes"]
    readout: Complex[np.ndarray, "order modes"]


def modes(alpha: float, order: SupportsIndex) -> Modes:
    """The modes of the fractional operator: order/2 + 1 of them, or 2·order close to LegS.

    LegS itself cannot be diagonalised in floating point. But the operator is analytic in α, and
    so, at fixed input, is its state: it equals the mean of the states over a circle of complex α
    around it, and those operators have good eigenvectors (docs/theory.md §6).
    """
    alpha, order = check_alpha(alpha), check_order(order)
    rates, readout, condition = _diagonal(alpha, order)
    if condition <= _LARGEST_CONDITION:
        upper = np.imag(rates) >= 0
        readout = readout * np.where(np.imag(rates) > 0, 2.0, 1.0)
        rates, readout = rates[upper], readout[:, upper]
    else:
        # By symmetry the upper half of the circle is enough.
        angles = np.pi * (2 * np.arange(_POINTS // 2) + 1) / _POINTS
        parts = [_diagonal(alpha + _RADIUS * np.exp(1j * angle), order) for angle in angles]
        rates = np.concatenate([part[0] for part in parts])
        readout = np.concatenate([part[1] for part in parts], axis=1) * 2 / _POINTS
    by_rate = np.argsort(np.real(rates), kind="stable")
    return Modes(rates[by_rate], np.ascontiguousarray(readout[:, by_rate]))


def _diagonal(alpha: float | complex, order: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Rates, readout V diag(V⁻¹B/λ) and κ(V) of the fractional operator at a complex α."""
    A, B = fractional_pair(alpha, order)
    rates, V = np.linalg.eig(A.astype(complex) if isinstance(alpha, complex) else A)
    gain = np.linalg.solve(V, B.astype(V.dtype)) / rates
    return rates.astype(complex), (V * gain).astype(complex), float(np.linalg.cond(V))
