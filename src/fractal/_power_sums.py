"""Sums Σ_k exp(λ s_k) d_k over many samples k for a few modes λ, by Taylor expansion in chunks.

A chunk of consecutive samples has s_k = c + ε_k with small ε_k, so

    Σ_k exp(λ (c + ε_k)) d_k = exp(λ c) Σ_p (λ^p / p!) Σ_k ε_k^p d_k.

The moments Σ ε^p d are shared by all modes, and each chunk needs one exponential per mode. A mode
uses the longest chunks with |λ ε| ≤ 1. Modes that are too fast for all chunk lengths are summed
directly, over the few samples whose terms are not negligible.
"""

import math

import numpy as np
from jaxtyping import Complex, Float

_CHUNKS = (64, 16)
_TERMS = 18  # 1/18! is below the rounding of float64
_MAX_EXPONENT = 40.0  # exp(−40) is below the rounding of float64
_ROWS = 1024  # samples per direct sum: their exponentials fit into the cache


def power_sums(
    rates: Complex[np.ndarray, " modes"],
    s: Float[np.ndarray, " time"],
    d: Float[np.ndarray, "time channels"],
) -> Complex[np.ndarray, "channels modes"]:
    """Σ_k exp(rates · s_k) d_k, for ascending s ≤ 0 and rates with positive real part."""
    sums = np.zeros((d.shape[1], len(rates)), complex)
    remaining = np.arange(len(rates))
    for size in _CHUNKS:
        first = _first_significant(rates[remaining], s)
        if len(remaining) * (len(s) - first) <= len(s) or len(s) <= size:
            break  # the direct sum is cheaper than another set of moments
        center, offset, jumps = _chunks(size, s, d)
        slow = np.abs(rates[remaining]) * np.abs(offset).max() <= 1
        if slow.any():
            sums[:, remaining[slow]] = _taylor_sums(rates[remaining[slow]], center, offset, jumps)
            remaining = remaining[~slow]
    for start in range(_first_significant(rates[remaining], s), len(s), _ROWS):
        rows = slice(start, start + _ROWS)
        sums[:, remaining] += d[rows].T @ np.exp(np.multiply.outer(s[rows], rates[remaining]))
    return sums


def _first_significant(rates: np.ndarray, s: np.ndarray) -> int:
    """Index of the first sample whose term is not negligible for the slowest of these modes."""
    if not len(rates):
        return len(s)
    return int(np.searchsorted(s, -_MAX_EXPONENT / np.real(rates).min()))


def _chunks(size: int, s: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split into chunks, zero-padded.

    Returns centers (chunks,), offsets (chunks, size) and jumps (chunks, size, channels).
    """
    padding = -len(s) % size
    s = np.pad(s, (0, padding), mode="edge").reshape(-1, size)
    d = np.pad(d, ((0, padding), (0, 0))).reshape(len(s), size, -1)
    center = (s[:, 0] + s[:, -1]) / 2
    return center, s - center[:, None], d


def _taylor_sums(
    rates: Complex[np.ndarray, " modes"],
    center: Float[np.ndarray, " chunks"],
    offset: Float[np.ndarray, "chunks size"],
    jumps: Float[np.ndarray, "chunks size channels"],
) -> Complex[np.ndarray, "channels modes"]:
    """The sums of slow modes, by Taylor expansion around the center of each chunk."""
    powers = np.ones((_TERMS, *offset.shape))
    for p in range(1, _TERMS):
        np.multiply(powers[p - 1], offset, out=powers[p])
    moments = powers.transpose(1, 0, 2) @ jumps  # (chunks, terms, channels)
    shifted = np.exp(np.multiply.outer(rates, center)) @ moments.reshape(len(center), -1)
    factorials = np.array([math.factorial(p) for p in range(_TERMS)], float)
    coefficients = rates[:, None] ** np.arange(_TERMS) / factorials
    return np.einsum("mp,mpc->cm", coefficients, shifted.reshape(len(rates), _TERMS, -1))
