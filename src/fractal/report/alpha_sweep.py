"""What α does, for the slider of the report: measure, spectrum, and recall of some signals."""

from typing import Any

import numpy as np
from jaxtyping import Float

from .. import theory
from .._memory import OnlineMemory
from .recall import AGE_LABELS, brownian, error_by_age, sample_ages

ALPHAS = tuple(round(0.05 * k, 2) for k in range(19))
ORDER, LENGTH, POINTS = 64, 30_000, 300
RECENT = 0.002  # of the history is shown apart, as through a magnifying glass


def alpha_sweep() -> dict[str, Any]:
    """All data of the slider, rounded for JSON."""
    from ..nn._spectra import spectrum  # loads JAX

    ages = np.geomspace(1e-4, 1, 81)
    return {
        "alphas": ALPHAS,
        "order": ORDER,
        "ages": rounded(ages),
        "density": [rounded(theory.Fractional(a).density(1.0, 1 - ages)) for a in ALPHAS],
        "recent": [rounded(theory.Fractional(a).recent_share(0.1)) for a in ALPHAS],
        "fractional": [_pairs(_eigenvalues(alpha)) for alpha in ALPHAS],
        "normal": [_pairs(spectrum("normal", alpha, ORDER).rates) for alpha in ALPHAS],
        "bands": AGE_LABELS,
        "signals": _recalled(),
    }


def signals() -> dict[str, Float[np.ndarray, " time"]]:
    """A path that is rough at every scale, one with jumps, and one that cannot be compressed."""
    rng = np.random.default_rng(1)
    heights = rng.standard_normal(9)
    # Jumps at ages that are spread evenly over the orders of magnitude.
    jumps = np.geomspace(3e-4, 0.5, 8)
    steps = heights[np.searchsorted(jumps, sample_ages(LENGTH))]
    noise = rng.standard_normal(LENGTH)
    return {"Brownian path": brownian(LENGTH, 1, seed=3)[:, 0], "jumps": steps, "noise": noise}


def _recalled() -> list[dict[str, Any]]:
    named = signals()
    u = np.stack(list(named.values()), axis=1)
    ages = sample_ages(LENGTH)
    whole = np.linspace(0, LENGTH - 1, POINTS).round().astype(int)
    recent = np.arange(round((1 - RECENT) * LENGTH), LENGTH)
    chosen = np.concatenate([whole, recent])
    shown, errors = [], []
    for alpha in ALPHAS:
        found = OnlineMemory(alpha, ORDER, channels=len(named)).push(u).recall(ages)
        shown.append(found[chosen])
        errors.append(error_by_age((found - u) / u.std(axis=0)))
    return [
        {
            "name": name,
            "whole": len(whole),
            "ages": rounded(ages[chosen], 6),
            "signal": rounded(u[chosen, channel], 6),
            "recalled": [rounded(values[:, channel], 6) for values in shown],
            "errors": [rounded(bands[:, channel]) for bands in errors],
        }
        for channel, name in enumerate(named)
    ]


def _eigenvalues(alpha: float) -> np.ndarray:
    """Of the fractional operator; at α = 0 it is LegS, whose eigenvalues are known exactly."""
    if alpha == 0:
        return theory.published_spectrum(0.0, ORDER).eigenvalues
    op = theory.operator(theory.Fractional(alpha), ORDER)
    return theory.diagonalize(op).eigenvalues


def _pairs(values: np.ndarray) -> list[Any]:
    """Real and imaginary parts of one of each conjugate pair."""
    values = values[np.imag(values) >= 0]
    return [rounded(np.real(values)), rounded(np.imag(values))]


def rounded(values: Any, digits: int = 4) -> Any:
    """Numbers to a few significant digits, in lists that JSON can hold; NaN becomes None."""
    found = np.asarray(values, float)
    text = [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in found.ravel()]
    return text[0] if found.ndim == 0 else text
