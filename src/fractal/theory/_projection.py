"""Orthogonal projection of a piecewise-constant signal, and reconstruction from it."""

from typing import SupportsIndex

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from .._checks import check_ages, check_order, check_real, check_samples
from ._measures import Measure, check_measure

_ROWS = 1 << 14  # points per evaluation: bounds the working memory


def project(measure: Measure, samples: ArrayLike, order: SupportsIndex) -> Float[np.ndarray, "..."]:
    """Coefficients ⟨u, p_n⟩_μ of a piecewise-constant signal on [0, 1].

    Exact up to rounding: the basis is integrated in closed form over each sample. Before its start
    the signal is zero (relevant for LagT, and for LegT with window > 1).

    **Arguments:**

    - `samples`: (time,) or (time, channels); all samples have the same duration.

    **Returns:** coefficients of shape (order,) or (channels, order).
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
    """Evaluate the polynomial with coefficients `x` at relative ages in [0, 1]; 0 is the present.

    **Arguments:**

    - `x`: coefficients of shape (order,) or (channels, order).

    **Returns:** values of shape (ages,) or (ages, channels).
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
