"""The best projection of a piecewise-constant signal, and the value a projection recalls."""

from typing import SupportsIndex

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from .._checks import check_ages, check_order, check_real, check_samples
from ._measures import Measure, check_measure

_ROWS = 1 << 14  # points evaluated at once: bounds the memory of long signals


def project(measure: Measure, samples: ArrayLike, order: SupportsIndex) -> Float[np.ndarray, "..."]:
    """Coefficients ⟨u, p_n⟩_μ of the signal that holds each sample for an equal part of [0, 1].

    Exact up to rounding: the basis is integrated in closed form over each sample. Samples (time,)
    give (order,), samples (time, channels) give (channels, order). Where a measure reaches
    further back than the signal (LagT, a long LegT), the signal is zero there.
    """
    measure = check_measure(measure)
    u, order = check_samples(samples), check_order(order)
    length = len(u)
    x = np.zeros((order, *u.shape[1:]))
    for start in range(0, length, _ROWS):
        part = u[start : start + _ROWS]
        edges = (length - np.arange(start, start + len(part) + 1)) / length
        x -= np.diff(measure.basis_mass(order, edges), axis=1) @ part
    return x.T


def recall(measure: Measure, x: ArrayLike, ages: ArrayLike) -> Float[np.ndarray, "..."]:
    """The polynomial with coefficients `x` at relative ages in [0, 1], where 0 is now.

    x (order,) gives (ages,), x (channels, order) gives (ages, channels).
    """
    measure = check_measure(measure)
    x, ages = check_real("x", x), check_ages(ages)
    if x.ndim not in (1, 2):
        raise ValueError(f"x must have shape (order,) or (channels, order), got {x.shape}")
    order = check_order(x.shape[-1])
    values = np.empty((len(ages), *x.shape[:-1]))
    for start in range(0, len(ages), _ROWS):
        rows = slice(start, start + _ROWS)
        values[rows] = measure.basis(order, ages[rows]).T @ x.T
    return values
