"""Modes as functions of a learned α: a Chebyshev series of their logarithms, in log(α/(1−α))."""

import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ._spectra import SMALLEST_ALPHA, spectrum

LARGEST_LEARNED = 0.94  # the spectra are smooth in α from SMALLEST_ALPHA to this value


def _log_odds(alpha):
    return np.log(alpha / (1 - alpha))


_ENDS = _log_odds(np.array([SMALLEST_ALPHA, LARGEST_LEARNED]))
CENTER, HALF_WIDTH = float(_ENDS.mean()), float(np.ptp(_ENDS) / 2)
_DEGREE = 64  # maximum error of the logarithms: 2e-9, at order 64


@functools.cache
def series_of_modes(
    init: str, order: int
) -> tuple[Float[np.ndarray, "degree 3 modes"], np.ndarray]:
    """Chebyshev coefficients of log decay, log frequency and log gain; and a mask of real modes."""
    angles = np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1)
    alphas = 1 / (1 + np.exp(-(CENTER + HALF_WIDTH * np.cos(angles))))
    blocks = [spectrum(init, alpha, order) for alpha in alphas]
    rates = np.stack([block.rates for block in blocks])
    real = np.imag(rates[0]) == 0
    frequencies = np.where(real, 1.0, np.imag(rates))
    logs = np.log(np.stack([np.real(rates), frequencies, [b.gains for b in blocks]], axis=1))
    # Discrete orthogonality of the Chebyshev polynomials on these nodes.
    weights = np.cos(np.arange(_DEGREE + 1)[:, None] * angles) * 2 / (_DEGREE + 1)
    weights[0] /= 2
    return np.einsum("dn,nfm->dfm", weights, logs), real


def initial_alphas(alphas: Sequence[float]) -> list[float]:
    """Initial values of learned α: the given ones, clipped to the interior of the range."""
    odds = np.exp(CENTER + HALF_WIDTH * scaled_log_odds(alphas))
    return (odds / (1 + odds)).tolist()


def scaled_log_odds(alphas: Sequence[float]) -> Float[np.ndarray, " blocks"]:
    """log(α/(1−α)), scaled to [−1, 1] and clipped, since the gradient vanishes at the ends."""
    x = (_log_odds(np.clip(alphas, SMALLEST_ALPHA, LARGEST_LEARNED)) - CENTER) / HALF_WIDTH
    return np.clip(x, -0.98, 0.98)
