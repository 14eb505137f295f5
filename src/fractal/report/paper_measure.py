"""Claims in the text of the paper about the measure and its basis, measured.

Each function is one claim. Sources: §, App. and Table are the paper's.
"""

import numpy as np

from .. import theory
from .claims import Claim, of_paper
from .quadrature import power_law_rule

ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)


def unit_mass() -> Claim:
    """∫ μ by Gauss-Legendre in v = age^(1−α)."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    worst = 0.0
    for alpha in (0.0, 0.25, 0.5):
        for t in (0.1, 1.0, 1000.0):
            v = (nodes + 1) / 2
            age = t * v ** (1 / (1 - alpha))
            jacobian = t / (1 - alpha) * v ** (alpha / (1 - alpha))
            density = theory.Fractional(alpha).density(t, t - age)
            mass = float(weights / 2 @ (density * jacobian))
            worst = max(worst, abs(mass - 1))
    return of_paper(
        "App. B",
        "the measure has unit mass",
        "1",
        f"1 to {worst:.0e} (α ≤ 0.5, t from 0.1 to 1000)",
        worst,
        worst < 1e-9,
    )


def scale_invariant_measure() -> Claim:
    """λ μ^(λt)(λx) = μ^(t)(x)."""
    x = np.linspace(0, 0.999, 500)
    worst = 0.0
    for alpha in ALPHAS:
        m = theory.Fractional(alpha)
        for scale in (1e-3, 7.0, 1e6):
            ratio = scale * m.density(scale, scale * x) / m.density(1.0, x)
            worst = max(worst, np.abs(ratio - 1).max())
    return of_paper(
        "App. C",
        "the measure is scale-invariant",
        "invariant",
        f"λ μ^(λt)(λx) = μ^(t)(x) to {worst:.0e}, λ from 1e-3 to 1e6",
        worst,
        worst < 1e-9,
    )


def orthonormal_basis() -> Claim:
    """The Gram matrix of the basis by quadrature."""
    worst = 0.0
    for alpha in ALPHAS:
        ages, weights = power_law_rule(alpha)
        p = theory.Fractional(alpha).basis(64, ages)
        gram = (p * weights) @ p.T
        worst = max(worst, np.abs(gram - np.eye(64)).max())
    return of_paper(
        "App. D",
        "γ_n P_n^(−α,0) is orthonormal under the measure",
        "⟨p_m, p_n⟩ = δ_mn",
        f"to {worst:.0e} (N = 64)",
        worst,
        worst < 1e-10,
    )


def recent_share() -> Claim:
    """CDF(p; α)."""
    m = theory.Fractional(0.5)
    recent, oldest = float(m.recent_share(0.1)), 1 - float(m.recent_share(0.9))
    return of_paper(
        "App. I.2",
        "at α = 0.5 the most recent 10 % of history has 5.1 % of the weight",
        "5.1 % = 1 − 0.9^(1−α)",
        f"{recent:.1%} = 0.1^(1−α); {oldest:.1%} is the share of the oldest 10 %",
        recent,
        abs(recent - 0.051) < 5e-4,
    )
