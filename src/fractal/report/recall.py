"""Recall error by relative age."""

import numpy as np
from jaxtyping import Float

AGE_BANDS = ((0.0, 1e-4), (1e-4, 1e-3), (1e-3, 1e-2), (1e-2, 0.1), (0.1, 1.0))
AGE_LABELS = ("< 1e-4", "1e-4 … 1e-3", "1e-3 … 1e-2", "1e-2 … 0.1", "0.1 … 1")


def sample_ages(length: int) -> Float[np.ndarray, " time"]:
    """The relative age of the middle of each of `length` equal samples, oldest first."""
    return 1 - (np.arange(length) + 0.5) / length


def error_by_age(
    error: Float[np.ndarray, "time channels"], bands: tuple[tuple[float, float], ...] = AGE_BANDS
) -> Float[np.ndarray, "bands channels"]:
    """Root mean square of `error` within each band of ages; NaN where a band has no sample."""
    ages = sample_ages(len(error))
    found = np.full((len(bands), error.shape[1]), np.nan)
    for row, (low, high) in enumerate(bands):
        inside = (ages >= low) & (ages < high)
        if inside.any():
            found[row] = np.sqrt(np.mean(error[inside] ** 2, axis=0))
    return found


def brownian(length: int, paths: int, seed: int = 0) -> Float[np.ndarray, "time paths"]:
    """Brownian paths on [0, 1]."""
    steps = np.random.default_rng(seed).standard_normal((length, paths))
    return steps.cumsum(axis=0) / np.sqrt(length)
