"""Many samples, few modes: sums Σ_k exp(λ s_k) d_k without an exponential for each pair.

A chunk of neighboring samples has s_k = c + ε_k with small ε_k, so

    Σ_k exp(λ (c + ε_k)) d_k = exp(λ c) Σ_p (λ^p / p!) Σ_k ε_k^p d_k.

The moments Σ ε^p d serve all modes, and each chunk needs one exponential a mode. A mode takes the
longest chunks in which |λ ε| ≤ 1; what is too fast even for short ones is summed directly, over
the few samples that it still remembers.
"""

import math

import numpy as np
from jaxtyping import Complex, Float

_CHUNKS = (64, 16)
_TERMS = 18  # 1/18! is below the rounding of float64
_FORGOTTEN = 40.0  # exp(−40) is below the rounding of float64
_ROWS = 1024  # exponentials of so many samples at once stay in the cache


def power_sums(
    rates: Complex[np.ndarray, " modes"],
    s: Float[np.ndarray, " time"],
    d: Float[np.ndarray, "time channels"],
) -> Complex[np.ndarray, "channels modes"]:
    """Σ_k exp(rates · s_k) d_k, for ascending s ≤ 0 and rates with positive real part."""
    sums = np.zeros((d.shape[1], len(rates)), complex)
    left = np.arange(len(rates))
    for size in _CHUNKS:
        first = _first_remembered(rates[left], s)
        if len(left) * (len(s) - first) <= len(s) or len(s) <= size:
            break  # directly is cheaper than another set of moments
        center, offset, jumps = _chunks(size, s, d)
        slow = np.abs(rates[left]) * np.abs(offset).max() <= 1
        if slow.any():
            sums[:, left[slow]] = _expanded(rates[left[slow]], center, offset, jumps)
            left = left[~slow]
    for start in range(_first_remembered(rates[left], s), len(s), _ROWS):
        rows = slice(start, start + _ROWS)
        sums[:, left] += d[rows].T @ np.exp(np.multiply.outer(s[rows], rates[left]))
    return sums


def _first_remembered(rates: np.ndarray, s: np.ndarray) -> int:
    """Index of the first sample that the slowest of these modes has not forgotten."""
    if not len(rates):
        return len(s)
    return int(np.searchsorted(s, -_FORGOTTEN / np.real(rates).min()))


def _chunks(size: int, s: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centers (chunks,), offsets (chunks, size) and jumps (chunks, size, channels), padded."""
    padding = -len(s) % size
    s = np.pad(s, (0, padding), mode="edge").reshape(-1, size)
    d = np.pad(d, ((0, padding), (0, 0))).reshape(len(s), size, -1)
    center = (s[:, 0] + s[:, -1]) / 2
    return center, s - center[:, None], d


def _expanded(
    rates: Complex[np.ndarray, " modes"],
    center: Float[np.ndarray, " chunks"],
    offset: Float[np.ndarray, "chunks size"],
    jumps: Float[np.ndarray, "chunks size channels"],
) -> Complex[np.ndarray, "channels modes"]:
    powers = np.ones((_TERMS, *offset.shape))
    for p in range(1, _TERMS):
        np.multiply(powers[p - 1], offset, out=powers[p])
    moments = powers.transpose(1, 0, 2) @ jumps  # (chunks, terms, channels)
    transported = np.exp(np.multiply.outer(rates, center)) @ moments.reshape(len(center), -1)
    factorials = np.array([math.factorial(p) for p in range(_TERMS)], float)
    coefficients = rates[:, None] ** np.arange(_TERMS) / factorials
    return np.einsum("mp,mpc->cm", coefficients, transported.reshape(len(rates), _TERMS, -1))
