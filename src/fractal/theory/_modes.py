"""The fractional memory as a set of exponential averages in log time: one scan for every α."""

import dataclasses
from typing import SupportsIndex

import numpy as np
from jaxtyping import Complex

from .._checks import check_alpha, check_order
from ._operators import fractional_pair

LARGEST_ALPHA = 0.95  # beyond it κ(V) grows without bound
# Below this α the eigenvectors degenerate towards LegS (κ ≈ 50/α at N = 64), and the mean over a
# circle of this radius takes their place. Its error falls like radius^points: below 1e-9 here.
_RADIUS, _POINTS = 1e-2, 6


@dataclasses.dataclass(frozen=True, eq=False)
class Modes:
    """x = Re(readout · z) with dz_j/ds = rate_j (u − z_j): each mode is an average of the input.

    Of a conjugate pair only one mode is kept, and the readout counts it twice.
    """

    rates: Complex[np.ndarray, " modes"]
    readout: Complex[np.ndarray, "order modes"]


def modes(alpha: float, order: SupportsIndex) -> Modes:
    """The modes of the fractional operator: order/2 + 1 of them, or 3·order for α < 0.01.

    LegS itself cannot be diagonalized in floating point. But the operator is analytic in α, and
    so, at fixed input, is its state: it equals the mean of the states over a circle of complex α
    around it, and those operators have good eigenvectors (docs/theory.md §6).
    """
    alpha, order = check_alpha(alpha, largest=LARGEST_ALPHA), check_order(order)
    if alpha >= _RADIUS:
        rates, readout = _real_modes(alpha, order)
    else:
        # By symmetry the upper half of the circle is enough.
        angles = np.pi * (2 * np.arange(_POINTS // 2) + 1) / _POINTS
        parts = [_complex_modes(alpha + _RADIUS * np.exp(1j * angle), order) for angle in angles]
        rates = np.concatenate([rates for rates, _ in parts])
        readout = np.concatenate([readout for _, readout in parts], axis=1) * 2 / _POINTS
    by_rate = np.argsort(np.real(rates), kind="stable")
    return Modes(rates[by_rate], np.ascontiguousarray(readout[:, by_rate]))


def _real_modes(alpha: float, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Rates and readout where real modes and one of each conjugate pair suffice."""
    rates, V = np.linalg.eig(fractional_pair(alpha, order)[0])
    real, upper = np.imag(rates) == 0, np.imag(rates) > 0
    # A real system for real unknowns: gains that are conjugate to the last bit.
    v, pairs = np.real(V[:, real]), V[:, upper]
    gain = _gains(np.concatenate([v, 2 * np.real(pairs), -2 * np.imag(pairs)], axis=1))
    alone, re, im = np.split(gain, [v.shape[1], v.shape[1] + pairs.shape[1]])
    readout = np.concatenate([v * alone + 0j, 2 * pairs * (re + 1j * im)], axis=1)
    return np.concatenate([rates[real], rates[upper]]).astype(complex), readout


def _complex_modes(alpha: complex, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Rates and readout of all modes at a complex α."""
    rates, V = np.linalg.eig(fractional_pair(alpha, order)[0])
    return rates, V * _gains(V)


def _gains(V: np.ndarray) -> np.ndarray:
    """V⁻¹ A⁻¹ B = V⁻¹ e_0: all modes at 1 hold the constant 1. One step of refinement."""
    constant = np.eye(len(V))[0].astype(V.dtype)
    gain = np.linalg.solve(V, constant)
    return gain + np.linalg.solve(V, constant - V @ gain)
