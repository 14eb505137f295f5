"""Orthogonal polynomials: Jacobi P_n^(a,b) and Laguerre, by three-term recurrences.

Notation of `fractal.theory`:

| symbol | meaning |
|---|---|
| N, `order` | number of polynomials |
| α, `alpha` | singularity index of the measure, in [0, 1) |
| ξ = x/t, `age` = 1 − ξ, η = 2ξ − 1 | relative time, relative age, argument of P_n |
| e_n = P_n^(−α,0)(1) | endpoint value, a generalized binomial coefficient |
| γ_n = sqrt((2n+1−α)/(1−α)) | so that p_n(ξ) = γ_n P_n^(−α,0)(η) is orthonormal under μ |
"""

import numpy as np
from jaxtyping import Float, Inexact


def endpoint_values(alpha: float | complex, order: int) -> Inexact[np.ndarray, "order"]:
    """e_0 … e_{order−1}, computed as a product; the Γ function would overflow at n = 171."""
    n = np.arange(1, order)
    return np.concatenate([[1.0], np.cumprod((n - alpha) / n)])


def norms(alpha: float | complex, order: int) -> Inexact[np.ndarray, "order"]:
    """Normalization factors γ_0 … γ_{order−1}."""
    return np.sqrt((2 * np.arange(order) + 1 - alpha) / (1 - alpha))


def jacobi(
    order: int, a: float, b: float, eta: Float[np.ndarray, "*points"]
) -> Float[np.ndarray, "order *points"]:
    """P_0^(a,b) … P_{order−1}^(a,b) at η. The recurrence is stable on [−1, 1]."""
    P = np.ones((order, *eta.shape))
    if order > 1:
        P[1] = (a + 1) + (a + b + 2) * (eta - 1) / 2
    for n in range(2, order):
        c = 2 * n + a + b
        scale = 2 * n * (n + a + b) * (c - 2)
        linear = (c - 1) * c * (c - 2) / scale
        constant = (c - 1) * (a * a - b * b) / scale
        back = 2 * (n + a - 1) * (n + b - 1) * c / scale
        P[n] = (linear * eta + constant) * P[n - 1] - back * P[n - 2]
    return P


def laguerre(
    order: int, s: Float[np.ndarray, "*points"], start: Float[np.ndarray, "*points"]
) -> Float[np.ndarray, "order *points"]:
    """`start` · L_0(s) … `start` · L_{order−1}(s).

    With start = exp(−s/2) every term lies in [−1, 1]; L_n alone may overflow.
    """
    L = np.empty((order, *s.shape))
    L[0] = start
    if order > 1:
        L[1] = (1 - s) * start
    for n in range(2, order):
        L[n] = ((2 * n - 1 - s) * L[n - 1] - (n - 1) * L[n - 2]) / n
    return L
