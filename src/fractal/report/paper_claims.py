"""Claims in the text of the paper, measured: measure, matrices, spectrum, discretization.

Each function is one claim. Sources: §, App. and Table are the paper's.
"""

import numpy as np
from jaxtyping import Float
from numpy.polynomial import legendre

from .. import theory
from .claims import Claim, of_paper

ALPHAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)


def claims() -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        exact_dynamics(),
        endpoint_formula(),
        high_frequencies(),
        triangular(),
        no_closed_form(),
        growth_far_from_diagonal(),
        interpolation(),
        *zoh(),
        direct_eigendecomposition(),
        unit_mass(),
        scale_invariant_measure(),
        orthonormal_basis(),
        diagonal_by_quadrature(),
        monotone(),
        eigenvalues(),
        regularized_weight(),
        recent_share(),
    ]


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
    worst = max(_closed_against_quadrature(alpha, 16) for alpha in ALPHAS)
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


def _zoh_steady_state(sign: float) -> float:
    """Steady state of x ← Ā x + B̄ u at u = 1, relative to that of the continuous system."""
    op, step = theory.operator(theory.Fractional(0.5), 8), 0.1
    spectrum = theory.diagonalize(op)
    A_bar = np.real((spectrum.V * np.exp(-step * spectrum.eigenvalues)) @ spectrum.V_inv)
    B_bar = sign * np.linalg.solve(op.A, (A_bar - np.eye(8)) @ op.B)
    found, exact = np.linalg.solve(np.eye(8) - A_bar, B_bar), np.linalg.solve(op.A, op.B)
    return float(found @ exact / (exact @ exact))


def zoh() -> list[Claim]:
    """The two forms of B̄ that the paper prints."""
    rows = []
    for source, formula, sign in (
        ("§4.1", "B̄ = A⁻¹(Ā − I)B", 1.0),
        ("App. H", "B̄ = (−A)⁻¹(Ā − I)B", -1.0),
    ):
        ratio = _zoh_steady_state(sign)
        rows.append(
            of_paper(
                source,
                f"ZOH: {formula}",
                "discretizes dx/dt = −Ax + Bu",
                f"steady state is {ratio:+.3f} times the exact one",
                ratio,
                abs(ratio - 1) < 1e-9,
            )
        )
    return rows


def direct_eigendecomposition() -> Claim:
    """V Λ V⁻¹ from LAPACK against A, and the size of V⁻¹B."""
    A = theory.published_operator(0.5, 32).A
    eigenvalues, V = np.linalg.eig(A)
    error = np.abs((V * eigenvalues) @ np.linalg.inv(V) - A).max()
    exact = theory.published_spectrum(0.5, 64)
    gain = np.abs(exact.V_inv @ theory.published_operator(0.5, 64).B).max()
    return of_paper(
        "§4.2",
        "direct eigendecomposition of A(α) gives a robust initialization",
        "robust",
        f"V Λ V⁻¹ differs from A by {error:.0e} at N = 32; V⁻¹B, for unit eigenvectors, reaches "
        f"{gain:.0e} at N = 64 (largest float32: 3e38)",
        error,
        error < 1e-6,
    )


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


def diagonal_by_quadrature() -> Claim:
    """|A_nn − (n+1)| from quadrature in float64, and the error of the other entries."""
    worst = max(
        np.abs(np.diag(theory.published_operator(a, 64, method="quadrature").A) - np.arange(1, 65))
        .max()
        for a in ALPHAS
    )  # fmt: skip
    relative = max(_closed_against_quadrature(alpha, 64) for alpha in ALPHAS)
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
    entries = np.array([theory.published_operator(alpha, 64).A[below] for alpha in grid])
    smallest = np.diff(entries, axis=0).min()
    return of_paper(
        "App. F.5",
        "off-diagonal entries grow strictly with α",
        "growing",
        f"smallest increase per 0.01 of α: {smallest:.1e} (N = 64)",
        smallest,
        smallest > 0,
    )


def eigenvalues() -> Claim:
    """A V = V diag(1 … N) with the closed forms of A and V, entry by entry."""
    worst = 0.0
    for order in (4, 8, 16, 32, 64):
        for alpha in np.arange(0, 0.95, 0.1):
            A, spectrum = (
                theory.published_operator(alpha, order).A,
                theory.published_spectrum(alpha, order),
            )
            residual = A @ spectrum.V - spectrum.V * np.arange(1, order + 1)
            worst = max(worst, np.abs(residual).max() / np.abs(A).max())
    return of_paper(
        "App. G.2",
        "eigenvalues of A(α) are 1 … N, N ≤ 64",
        "to 1e-10",
        f"A V = V diag(1 … N) to {worst:.0e} with V in closed form",
        worst,
        worst < 1e-10,
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


def _closed_against_quadrature(alpha: float, order: int) -> float:
    closed = theory.published_operator(alpha, order).A
    quadrature = theory.published_operator(alpha, order, method="quadrature").A
    rows, columns = np.tril_indices(order)
    return float(np.abs(quadrature[rows, columns] / closed[rows, columns] - 1).max())


def galerkin(alpha: float, order: int) -> Float[np.ndarray, "order order"]:
    """A_nk = ⟨p_n + ξ p_n', p_k⟩ with ξ = 1 − age, by quadrature, above the diagonal too."""
    basis = theory.Fractional(alpha).basis
    ages, weights = power_law_rule(alpha)
    # Legendre coefficients of the basis, from its values at Gauss nodes, give the derivative.
    eta, gauss = legendre.leggauss(order)
    moments = basis(order, (1 - eta) / 2) * gauss @ legendre.legvander(eta, order - 1)
    coefficients = (np.arange(order) + 0.5) * moments
    slope = 2 * legendre.legval(1 - 2 * ages, legendre.legder(coefficients.T))  # d/dξ
    p = basis(order, ages)
    return ((p + (1 - ages) * slope) * weights) @ p.T


def power_law_rule(
    alpha: float, panels: int = 12, points: int = 640
) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Relative ages and weights for integrals under the power-law measure.

    In v = age^(1−α) the measure is uniform on [0, 1]. Gauss-Legendre panels that halve toward 0
    resolve the fractional power there; a panel is exact for polynomials of high degree in age.
    """
    nodes, weights = legendre.leggauss(points)
    edges = np.append(0.0, 2.0 ** np.arange(-panels, 1))
    half = np.diff(edges)[:, None] / 2
    v = (edges[:-1, None] + half * (nodes + 1)).ravel()
    return v ** (1 / (1 - alpha)), (half * weights).ravel()
