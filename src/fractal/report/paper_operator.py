"""Claims in the text of the paper about the dynamics and the matrices A(α) and B(α), measured.

Each function is one claim.
"""

import numpy as np

from .. import theory
from .claims import Claim, of_paper
from .paper_measure import ALPHAS
from .quadrature import closed_form_error, galerkin


def exact_dynamics() -> Claim:
    """The steady state of the published ODE for u = 1, taken as projection coefficients."""
    errors = {}
    for alpha in (0.3, 0.6, 0.9):
        op = theory.published_operator(alpha, 16)
        held = np.linalg.solve(op.A, op.B)  # its steady state
        errors[alpha] = np.linalg.norm(held - np.eye(16)[0])
    shown = ", ".join(f"{error:.2f} at α = {alpha}" for alpha, error in errors.items())
    return of_paper(
        "§3.3",
        "the LTV dynamics of the projection are exact",
        "exact",
        f"relative error for a constant signal: {shown} (N = 16)",
        max(errors.values()),
        max(errors.values()) < 1e-9,
    )


def endpoint_formula() -> Claim:
    """B_n against the basis itself at ξ = 1."""
    worst = 0.0
    for alpha in ALPHAS:
        B = theory.published_operator(alpha, 64).B
        at_one = theory.Fractional(alpha).basis(64, np.zeros(1))[:, 0]
        worst = max(worst, np.abs(at_one / B - 1).max())
    return of_paper(
        "§3.4 Eq. 7",
        "B_n = γ_n binom(n−α, n)",
        "closed form",
        f"equals p_n(1) to {worst:.0e} (N = 64)",
        worst,
        worst < 1e-11,
    )


def high_frequencies() -> Claim:
    """The exponent with which B_n grows."""
    exponents = {}
    for alpha in (0.0, 0.5):
        B = theory.published_operator(alpha, 2000).B
        exponents[alpha] = np.log(B[1999] / B[999]) / np.log(2)
    return of_paper(
        "§3.4",
        "for α > 0, B amplifies high frequencies more than LegS",
        "decays slower than LegS's √n",
        f"B_n ∝ n^{exponents[0.5]:.2f} at α = 0.5, n^{exponents[0.0]:.2f} for LegS",
        exponents[0.5],
        exponents[0.5] > exponents[0.0],
    )


def triangular() -> Claim:
    """The Galerkin matrix above its diagonal."""
    worst = 0.0
    for alpha in ALPHAS:
        A = galerkin(alpha, 32)
        worst = max(worst, np.abs(np.triu(A, 1)).max() / np.abs(A).max())
    return of_paper(
        "§3.4 Thm. 3.4",
        "A(α) is lower triangular",
        "0 above the diagonal",
        f"{worst:.0e} of the largest entry, by quadrature (N = 32)",
        worst,
        worst < 1e-11,
    )


def no_closed_form() -> Claim:
    """Closed form against quadrature, relative, entry by entry."""
    worst = max(closed_form_error(alpha, 16) for alpha in ALPHAS)
    return of_paper(
        "§3.4",
        "A_nk has no closed form for α > 0",
        "needs quadrature",
        f"A_nk = sqrt((2n+1−α)(2k+1−α)) e_k/e_n agrees to {worst:.0e} (N = 16)",
        worst,
        worst > 1e-11,
    )


def growth_far_from_diagonal() -> Claim:
    """A(0.9)/A(0) along each row: larger the further from the diagonal."""
    ratio = theory.published_operator(0.9, 64).A / np.where(
        np.tri(64, k=-1) > 0, theory.published_operator(0.0, 64).A, np.nan
    )
    smallest = min(-np.diff(ratio[n, :n]).max() for n in range(2, 64))
    return of_paper(
        "§3.4",
        "growth in α is larger for larger gaps n − k",
        "larger",
        f"A(0.9)/A(0) grows by ≥ {smallest:.1e} per step away (N = 64)",
        smallest,
        smallest > 0,
    )


def interpolation() -> Claim:
    """A(α) = M A(0) M⁻¹: the published operator is LegS in other coordinates."""
    worst = 0.0
    legs = theory.operator(theory.LegS(), 32)
    for alpha in (0.3, 0.6, 0.9):
        M, op = theory.to_legs(alpha, 32), theory.published_operator(alpha, 32)
        moved = np.linalg.solve(M.T, (M @ legs.A).T).T
        worst = max(worst, np.abs(moved - op.A).max() / np.abs(op.A).max())
        worst = max(worst, np.abs(M @ legs.B - op.B).max() / np.abs(op.B).max())
    return of_paper(
        "§3.1",
        "α moves the memory from global history to recent detail",
        "a different memory for each α",
        f"A(α) = M A(0) M⁻¹ and B(α) = M B(0) to {worst:.0e}: LegS for every α (N = 32)",
        worst,
        worst > 1e-9,
    )


def diagonal_by_quadrature() -> Claim:
    """|A_nn − (n+1)| from quadrature in float64, and the error of the other entries."""
    worst = max(
        np.abs(np.diag(theory.published_operator(a, 64, method="quadrature").A) - np.arange(1, 65))
        .max()
        for a in ALPHAS
    )  # fmt: skip
    relative = max(closed_form_error(alpha, 64) for alpha in ALPHAS)
    return of_paper(
        "App. F.3",
        "quadrature confirms |A_nn − (n+1)| < 1e-12 for N ≤ 64",
        "< 1e-12",
        f"{worst:.0e} in float64; all entries to {relative:.0e} relative; the closed form is exact",
        worst,
        worst < 1e-12,
    )


def monotone() -> Claim:
    """The smallest increase of an off-diagonal entry as α grows by 0.01."""
    below = np.tri(64, k=-1) > 0
    grid = np.arange(0, 0.96, 0.01)
    entries = np.array([theory.published_operator(alpha, 64).A[below] for alpha in grid.tolist()])
    smallest = np.diff(entries, axis=0).min()
    return of_paper(
        "App. F.5",
        "off-diagonal entries grow strictly with α",
        "growing",
        f"smallest increase per 0.01 of α: {smallest:.1e} (N = 64)",
        smallest,
        smallest > 0,
    )


def regularized_weight() -> Claim:
    """Error of the weight (1−η+δ)^(−α) against δ."""
    alpha, exact = 0.6, theory.published_operator(0.6, 8).A
    errors = [
        np.abs(
            theory.published_operator(alpha, 8, method="quadrature", regularization=delta).A - exact
        ).max()
        for delta in (1e-5, 1e-6)
    ]
    slope = np.log10(errors[0] / errors[1])
    return of_paper(
        "App. G.4",
        "the error of the regularized weight is O(δ^(1−α))",
        "exponent 0.4 at α = 0.6",
        f"exponent {slope:.2f}; the error itself is {errors[1]:.2f} at δ = 1e-6 (N = 8)",
        slope,
        abs(slope - (1 - alpha)) < 0.1,
    )
