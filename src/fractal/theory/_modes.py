"""Diagonal form of the fractional operator: exponential moving averages in log time."""

import dataclasses
from typing import SupportsIndex

import numpy as np
from jaxtyping import Complex

from .._checks import check_alpha, check_order
from ._operators import fractional_pair

LARGEST_ALPHA = 0.95  # κ(V) grows without bound above
# For α below the radius the eigenvectors are nearly parallel (κ ≈ 50/α at N = 64), and the mean
# over a circle of this radius is used instead. Its error, of order radius^points, is below 1e-9.
_RADIUS, _POINTS = 1e-2, 6


@dataclasses.dataclass(frozen=True, eq=False)
class Modes:
    """x = Re(readout · z) with dz_j/ds = rate_j (u − z_j), s = log t.

    Each mode is an exponential moving average of the input. One mode of each conjugate pair is
    stored; its readout includes the factor 2.
    """

    rates: Complex[np.ndarray, " modes"]
    readout: Complex[np.ndarray, "order modes"]


def modes(alpha: float, order: SupportsIndex) -> Modes:
    """Modes of the fractional operator: order/2 + 1 of them, or 3·order for α < 0.01.

    LegS (α = 0) cannot be diagonalized in floating point. The operator and, at fixed input, its
    state are analytic in α. For α < 0.01 the state is therefore computed as its mean over a circle
    of complex α around it, where the eigenvectors are well conditioned (docs/theory.md §6).
    """
    alpha, order = check_alpha(alpha, largest=LARGEST_ALPHA), check_order(order)
    if alpha >= _RADIUS:
        rates, readout = _real_modes(alpha, order)
    else:
        # The lower half of the circle contributes the complex conjugate.
        angles = np.pi * (2 * np.arange(_POINTS // 2) + 1) / _POINTS
        parts = [_complex_modes(alpha + _RADIUS * np.exp(1j * angle), order) for angle in angles]
        rates = np.concatenate([rates for rates, _ in parts])
        readout = np.concatenate([readout for _, readout in parts], axis=1) * 2 / _POINTS
    by_rate = np.argsort(np.real(rates), kind="stable")
    return Modes(rates[by_rate], np.ascontiguousarray(readout[:, by_rate]))


def _real_modes(alpha: float, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Rates and readout at real α: the real modes, and one mode of each conjugate pair."""
    rates, V = np.linalg.eig(fractional_pair(alpha, order)[0])
    real, upper = np.imag(rates) == 0, np.imag(rates) > 0
    # Solved in real arithmetic, so that the gains of a pair are exactly conjugate.
    v, pairs = np.real(V[:, real]), V[:, upper]
    gain = _gains(np.concatenate([v, 2 * np.real(pairs), -2 * np.imag(pairs)], axis=1))
    real_gain, re, im = np.split(gain, [v.shape[1], v.shape[1] + pairs.shape[1]])
    readout = np.concatenate([v * real_gain + 0j, 2 * pairs * (re + 1j * im)], axis=1)
    return np.concatenate([rates[real], rates[upper]]).astype(complex), readout


def _complex_modes(alpha: complex, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Rates and readout of all modes at a complex α."""
    rates, V = np.linalg.eig(fractional_pair(alpha, order)[0])
    return rates, V * _gains(V)


def _gains(V: np.ndarray) -> np.ndarray:
    """V⁻¹ A⁻¹ B = V⁻¹ e_0, with one step of iterative refinement.

    With these gains the state z = 1 represents the constant signal 1.
    """
    constant = np.eye(len(V))[0].astype(V.dtype)
    gain = np.linalg.solve(V, constant)
    return gain + np.linalg.solve(V, constant - V @ gain)
