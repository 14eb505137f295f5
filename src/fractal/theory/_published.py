"""The published operator (A, B): closed form, quadrature and exact eigenvectors."""

from typing import SupportsIndex

import numpy as np
from jaxtyping import Float

from .._checks import check_alpha, check_count, check_order, check_positive
from ._basis import endpoint_values, jacobi, norms
from ._measures import Fractional
from ._operators import Operator, published_pair
from ._spectrum import Spectrum


def published_operator(
    alpha: float,
    order: SupportsIndex,
    *,
    method: str = "closed-form",
    points: SupportsIndex | None = None,
    regularization: float = 0.0,
) -> Operator:
    """The operator of the paper, which is similar to LegS for every α (docs/theory.md §2).

    **Arguments:**

    - `method`: `"closed-form"`, accurate to a few ulp at any order, or `"quadrature"`,
      Gauss-Jacobi as in the paper.
    - `points`: number of quadrature nodes; default 2N, or 4N for α > 0.8 as in the paper. With
      `regularization`, number of nodes per panel of a composite rule graded toward η = 1.
    - `regularization`: δ of the paper's weight (1−η+δ)^(−α); for quadrature only.
    """
    alpha, order = check_alpha(alpha), check_order(order)
    if method == "closed-form":
        if points is not None or regularization != 0:
            raise ValueError('points and regularization need method="quadrature"')
        A, B = published_pair(alpha, order)
    elif method == "quadrature":
        if regularization != 0:
            regularization = check_positive("regularization", regularization)
        points = (4 if alpha > 0.8 else 2) * order if points is None else points
        points = check_count("points", points, smallest=order)
        A = np.tril(galerkin(alpha, order, points, regularization))
        B = norms(alpha, order) * endpoint_values(alpha, order)
    else:
        raise ValueError(f'method must be "closed-form" or "quadrature", got {method!r}')
    return Operator(A, B, Fractional(alpha))


def galerkin(
    alpha: float, order: int, points: int, delta: float
) -> Float[np.ndarray, "order order"]:
    """A_nk = (γ_n/γ_k) ⟨P_n + (1+η)P_n', P_k⟩_w / ⟨P_k, P_k⟩_w, for all n and k."""
    eta, weight = _graded_rule(points, alpha, delta) if delta else gauss_jacobi(points, alpha)
    P = jacobi(order, -alpha, 0.0, eta)
    n = np.arange(order)[:, None]
    dP = np.zeros_like(P)
    dP[1:] = (n[1:] + 1 - alpha) / 2 * jacobi(order - 1, 1 - alpha, 1.0, eta)
    inner = ((P + (1 + eta) * dP) * weight) @ P.T / np.sum(P * P * weight, axis=1)
    g = norms(alpha, order)
    return g[:, None] / g * inner


def gauss_jacobi(
    points: int, alpha: float
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Nodes and weights for (1−η)^(−α) on [−1, 1], by the Golub-Welsch algorithm."""
    n = np.arange(1, points)
    diagonal = np.concatenate(
        [[alpha / (2 - alpha)], -(alpha**2) / ((2 * n - alpha) * (2 * n + 2 - alpha))]
    )
    off = n * (n - alpha) / (2 * n - alpha) * 2 / np.sqrt((2 * n - alpha) ** 2 - 1)
    eta, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return eta, 2 ** (1 - alpha) / (1 - alpha) * vectors[0] ** 2


def _graded_rule(points: int, alpha: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for (1−η+δ)^(−α): Gauss-Legendre on dyadic panels from δ to 2.

    A single rule would need about 1/sqrt(δ) nodes to resolve the boundary layer at η = 1.
    """
    edges = np.minimum(delta * 2.0 ** np.arange(max(0, np.ceil(np.log2(2 / delta))) + 1), 2.0)
    low, high = np.concatenate([[0.0], edges[:-1]]), edges
    nodes, weights = np.polynomial.legendre.leggauss(points)
    half = (high - low)[:, None] / 2
    s = (low[:, None] + half * (nodes + 1)).ravel()  # s = 1 − η
    return 1 - s, (half * weights).ravel() * (s + delta) ** -alpha


def published_spectrum(alpha: float, order: SupportsIndex) -> Spectrum:
    """The exact eigendecomposition A(α) = V diag(1 … N) V⁻¹ with unit columns of V.

    V contains the monomial coefficients of the basis, p_n = Σ_m V_nm ξ^m, and V⁻¹ those of
    ξ^m = Σ_n ⟨ξ^m, p_n⟩ p_n. The entries are products, accurate to a few ulp at any condition
    number (Frobenius norm). Before the columns are scaled, V⁻¹B is ξ^m at ξ = 1: a vector of ones.
    """
    alpha, order = check_alpha(alpha), check_order(order)
    g, n = norms(alpha, order), np.arange(order, dtype=float)
    V = np.zeros((order, order))
    V[:, 0] = g * (-1) ** n
    inverse = np.zeros((order, order))
    inverse[:, 0] = np.concatenate([[1.0], np.cumprod(n[1:] / (n[1:] + 1 - alpha))])
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported below
        for m in range(order - 1):
            V[:, m + 1] = -V[:, m] * (n - m) * (n + 1 - alpha + m) / (m + 1) ** 2
            inverse[:, m + 1] = (
                inverse[:, m] * (n - m) / (m + 1) * (m + 1 - alpha) / (n + m + 2 - alpha)
            )
        inverse *= g
        largest = np.abs(V).max(axis=0)
        V = V / largest
        size = np.linalg.norm(V, axis=0)
        V, inverse = V / size, inverse * largest[:, None] * size[:, None]
        condition = float(np.linalg.norm(V) * np.linalg.norm(inverse / np.abs(inverse).max()))
        condition *= float(np.abs(inverse).max())
    if not np.isfinite(condition):
        raise ValueError(f"order must be smaller, got {order}: V⁻¹ is beyond the range of float64")
    return Spectrum(n + 1, V, inverse, condition)


def to_legs(alpha: float, order: SupportsIndex) -> Float[np.ndarray, "order order"]:
    """M with p_n^(α) = Σ_k M_nk p_k^(0), so that A(α) = M A(0) M⁻¹ and B(α) = M B(0)."""
    alpha, order = check_alpha(alpha), check_order(order)
    eta, weight = gauss_jacobi(order, 0.0)
    age = (1 - eta) / 2
    M = Fractional(alpha).basis(order, age) * (weight / 2) @ Fractional(0.0).basis(order, age).T
    return np.tril(M)
