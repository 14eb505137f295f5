"""Properties of the fractional operator and its memory, measured."""

import numpy as np
from jaxtyping import Float

from .. import theory
from .._memory import OnlineMemory
from .claims import Claim, of_ours
from .recall import brownian, error_by_age, sample_ages

ALPHAS = (0.05, 0.3, 0.6, 0.9)
ORDERS = (8, 16, 32, 64)


def claims() -> list[Claim]:
    return [
        legs_at_zero(),
        exact_on_polynomials(),
        stable(),
        well_conditioned(),
        best_projection(),
        *recency_without_forgetting(),
        strictly_scale_invariant(),
        legs_through_a_circle(),
        any_block_size(),
    ]


def legs_at_zero() -> Claim:
    """The closure at α = 0."""
    worst = 0.0
    for order in ORDERS:
        ours, legs = (
            theory.operator(m, order) for m in (theory.Fractional(0.0), theory.LegS())
        )  # fmt: skip
        worst = max(worst, np.abs(ours.A - legs.A).max() / np.abs(legs.A).max())
    return of_ours("theory §3", "α = 0 is LegS", "1e-12", f"{worst:.0e}", worst, worst <= 1e-12)


def exact_on_polynomials() -> Claim:
    """Residual of dx/ds = −A x + B u for u = τ^m, m ≤ N."""
    worst = 0.0
    for alpha in ALPHAS:
        for order in ORDERS:
            op = theory.operator(theory.Fractional(alpha), order)
            # Row m of V⁻¹ contains the coefficients of ξ^m, scaled as V⁻¹B = u(t) is.
            wider = theory.published_operator(alpha, order + 2)
            rows = theory.published_spectrum(alpha, order + 2).V_inv[: order + 1]
            x = (rows / (rows @ wider.B)[:, None])[:, :order]
            m = np.arange(order + 1)[:, None]
            residual = m * x + x @ op.A.T - op.B
            worst = max(worst, np.linalg.norm(residual, axis=1).max() / np.linalg.norm(op.B))
    return of_ours(
        "theory §3",
        "the fractional operator is exact for polynomials of degree ≤ N",
        "1e-9",
        f"{worst:.0e} (N ≤ 64)",
        worst,
        worst <= 1e-9,
    )


def stable() -> Claim:
    """The smallest real part of an eigenvalue."""
    smallest = min(
        np.real(np.linalg.eigvals(theory.operator(theory.Fractional(alpha), order).A)).min()
        for alpha in (0.01, *ALPHAS, 0.99)
        for order in (*ORDERS, 128)
    )
    return of_ours(
        "theory §3",
        "the fractional operator is stable for every N and α: Re λ > ½",
        "> 0.5",
        f"smallest {smallest:.3f} (8 ≤ N ≤ 128, α from 0.01 to 0.99)",
        smallest,
        smallest > 0.5,
    )


def well_conditioned() -> Claim:
    """κ(V) and the error of V Λ V⁻¹."""
    worst_condition = worst_error = 0.0
    for alpha in (0.2, 0.4, 0.6, 0.8, 0.9):
        op = theory.operator(theory.Fractional(alpha), 64)
        spectrum = theory.diagonalize(op)
        rebuilt = (spectrum.V * spectrum.eigenvalues) @ spectrum.V_inv
        worst_error = max(worst_error, np.abs(rebuilt - op.A).max() / np.abs(op.A).max())
        worst_condition = max(worst_condition, spectrum.condition)
    return of_ours(
        "theory §4",
        "its eigenvectors are well conditioned",
        "κ(V) < 1e4 at N = 64, α ≤ 0.9",
        f"κ(V) ≤ {worst_condition:.1e}; V Λ V⁻¹ = A to {worst_error:.0e}",
        worst_condition,
        worst_condition < 1e4,
    )


def best_projection() -> Claim:
    """Relative L2(μ) errors of the streamed memory and of the best projection."""
    length = 2000
    t = (np.arange(length) + 0.5) / length
    rng = np.random.default_rng(0)
    signals = {
        "Brownian path": brownian(length, 1)[:, 0],
        "sine": np.sin(6 * np.pi * t),
        "steps": rng.standard_normal(20).repeat(length // 20),
        "chirp": np.sin(40 * np.pi * t**3),
    }
    u = np.stack(list(signals.values()), axis=1)
    beyond, ratios = -1.0, np.zeros(len(signals))
    for order in (16, 64):
        for alpha in (0.0, 0.01, 0.3, 0.6, 0.9):
            error, best = _relative_errors(alpha, order, u)
            beyond = max(beyond, (error - 1.01 * best).max())
            ratios = np.maximum(ratios, error / best)
    shown = ", ".join(f"{name} {ratio:.4f}" for name, ratio in zip(signals, ratios, strict=True))
    return of_ours(
        "theory §3",
        "the streamed memory is close to the best projection",
        "error ≤ 1.01 × best + 0.01",
        f"≤ 1.01 × best + {beyond:.3f}; largest ratio: {shown} (α from 0 to 0.9, N = 16, 64)",
        beyond,
        beyond <= 0.01,
    )


def _relative_errors(
    alpha: float, order: int, u: Float[np.ndarray, "time channels"]
) -> tuple[Float[np.ndarray, " channels"], Float[np.ndarray, " channels"]]:
    """Relative L2(μ) error of each signal as streamed, and of its best projection."""
    measure, length = theory.Fractional(alpha), len(u)
    best = theory.project(measure, u, order)
    streamed = OnlineMemory(alpha, order, channels=u.shape[1]).push(u).coefficients
    share = -np.diff(measure.recent_share((length - np.arange(length + 1)) / length))
    power = share @ u**2
    missed = power - np.sum(best**2, axis=1)
    excess = np.sum((streamed - best) ** 2, axis=1)  # orthogonal to the projection error
    return np.sqrt((missed + excess) / power), np.sqrt(missed / power)


def recency_without_forgetting() -> list[Claim]:
    """Recall of Brownian paths at α = 0.9 and by LegS, in the first and the last age band."""
    u = brownian(50_000, 3)
    ages = sample_ages(len(u))
    rms = {}
    for alpha in (0.0, 0.9):
        error = OnlineMemory(alpha, 64, channels=3).push(u).recall(ages) - u
        rms[alpha] = np.sqrt(np.mean(error_by_age(error) ** 2, axis=1))
    smaller, old = rms[0.0][0] / rms[0.9][0], rms[0.9][4] / rms[0.0][4]
    return [
        of_ours(
            "theory §3",
            "α = 0.9 has a smaller error than LegS at ages < 1e-4",
            "≥ 6 times smaller",
            f"{smaller:.1f} times smaller: {rms[0.9][0]:.1e} and {rms[0.0][0]:.1e}, N = 64",
            smaller,
            smaller >= 6,
        ),
        of_ours(
            "theory §3",
            "α = 0.9 has the error of LegS at ages > 0.1",
            "error ≤ 1.02 × LegS",
            f"{old:.3f} × LegS: {rms[0.9][4]:.2e} and {rms[0.0][4]:.2e}",
            old,
            old <= 1.02,
        ),
    ]


def strictly_scale_invariant() -> Claim:
    """The state after a signal and after the same signal with each sample repeated."""
    u = brownian(1000, 1)
    worst = 0.0
    for alpha in (0.0, 0.5, 0.9):
        plain = OnlineMemory(alpha, 64).push(u).coefficients
        for factor in (2, 3, 10):
            stretched = OnlineMemory(alpha, 64).push(u.repeat(factor, axis=0)).coefficients
            worst = max(worst, np.abs(stretched - plain).max() / np.abs(plain).max())
    return of_ours(
        "theory §5",
        "strict scale invariance, which the paper does not claim (Table 1, footnote)",
        "same state at 2×, 3×, 10× the length",
        f"to {worst:.0e}",
        worst,
        worst <= 1e-9,
    )


def legs_through_a_circle() -> Claim:
    """The diagonal memory at α = 0 and the exact LegS projection, of smooth and rough signals."""
    noise = np.random.default_rng(0).standard_normal((5000, 1))
    u = np.concatenate([brownian(5000, 1), noise, np.eye(5000)[:, 4990:4991]], axis=1)
    worst = 0.0
    for order in (16, 64, 128):
        best = theory.project(theory.LegS(), u, order)
        streamed = OnlineMemory(0.0, order, channels=3).push(u).coefficients
        error = np.abs(streamed - best).max(axis=1) / np.abs(best).max(axis=1)
        worst = max(worst, error.max())
    return of_ours(
        "theory §6",
        "LegS as a diagonal memory: the mean over a circle of complex α",
        "1e-9 of the exact projection",
        f"{worst:.0e}: Brownian path, noise, late spike (N ≤ 128)",
        worst,
        worst <= 1e-9,
    )


def any_block_size() -> Claim:
    """The state after a single block and after single samples."""
    u = brownian(1000, 1)
    worst = 0.0
    for alpha in (0.0, 0.01, 0.9):
        whole, single = OnlineMemory(alpha, 64).push(u), OnlineMemory(alpha, 64)
        for sample in u:
            single.push(sample)
        difference = np.abs(whole.coefficients - single.coefficients).max()
        worst = max(worst, difference / np.abs(whole.coefficients).max())
    return of_ours(
        "memory",
        "blocks of any size give the same state",
        "1e-9",
        f"{worst:.0e}",
        worst,
        worst <= 1e-9,
    )
