"""Integrals under the power-law measure, independent of the closed forms they are compared with."""

import numpy as np
from jaxtyping import Float
from numpy.polynomial import legendre

from .. import theory


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


def closed_form_error(alpha: float, order: int) -> float:
    """Largest relative difference between the closed form of A(α) and quadrature, by entry."""
    closed = theory.published_operator(alpha, order).A
    quadrature = theory.published_operator(alpha, order, method="quadrature").A
    rows, columns = np.tril_indices(order)
    return float(np.abs(quadrature[rows, columns] / closed[rows, columns] - 1).max())
