"""Operators of the measures: dx/ds = −A x + B u.

s is log t for the scale-invariant measures (Fractional, LegS) and t for LagT and LegT.
"""

import dataclasses
import functools
from typing import SupportsIndex

import numpy as np
from jaxtyping import Float, Inexact

from .._checks import check_order
from ._basis import endpoint_values, norms
from ._measures import Fractional, LagT, LegS, LegT, Measure, check_measure


@dataclasses.dataclass(frozen=True, eq=False)
class Operator:
    """The operator (A, B) of dx/ds = −A x + B u, and its measure."""

    A: Float[np.ndarray, "order order"]
    B: Float[np.ndarray, " order"]
    measure: Measure


def operator(measure: Measure, order: SupportsIndex) -> Operator:
    """The operator whose state is the projection onto `order` polynomials under `measure`.

    LegS and LagT are exact. LegT approximates the sample that leaves the window by the value that
    the projection reconstructs there. Fractional is the closure of docs/theory.md §3, exact for
    polynomials of degree ≤ order.
    """
    A, B = _pair(check_measure(measure), check_order(order))
    return Operator(A, B, measure)


@functools.singledispatch
def _pair(measure: Measure, order: int) -> tuple[np.ndarray, np.ndarray]:
    raise ValueError(f"no operator is known for {measure!r}")


@_pair.register
def _(measure: Fractional, order: int):
    return fractional_pair(measure.alpha, order)


@_pair.register
def _(measure: LegS, order: int):
    return published_pair(0.0, order)


@_pair.register
def _(measure: LagT, order: int):
    return np.tri(order) / measure.timescale, np.ones(order) / measure.timescale


@_pair.register
def _(measure: LegT, order: int):
    n = np.arange(order)
    sign = np.where(n[:, None] >= n, 1.0, (-1.0) ** (n[:, None] - n))
    g = norms(0.0, order)
    return sign * np.outer(g, g) / measure.window, g / measure.window


def published_pair(
    alpha: float | complex, order: int
) -> tuple[Inexact[np.ndarray, "order order"], Inexact[np.ndarray, " order"]]:
    """The published operator: A_nk = (1−α) γ_n γ_k e_k/e_n below the diagonal n+1."""
    e, g = endpoint_values(alpha, order), norms(alpha, order)
    A = np.tril((1 - alpha) * np.outer(g / e, g * e), -1) + np.diag(np.arange(1.0, order + 1))
    return A, g * e


def fractional_pair(
    alpha: float | complex, order: int
) -> tuple[Inexact[np.ndarray, "order order"], Inexact[np.ndarray, " order"]]:
    """The fractional operator: A_frac = c B Bᵀ − (A − I)ᵀ and B_frac = c B with c = (1−α)/e_N².

    α may be complex; A and B are analytic in α (see `modes`).
    """
    A, B = published_pair(alpha, order)
    c = (1 - alpha) / endpoint_values(alpha, order + 1)[-1] ** 2
    return c * np.outer(B, B) - (A - np.eye(order)).T, c * B
