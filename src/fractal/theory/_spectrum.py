"""Diagonalization that says how far it can be trusted."""

import dataclasses

import numpy as np
from jaxtyping import Inexact

from ._operators import Operator

LARGEST_CONDITION = 1e8  # leaves half of float64's digits


@dataclasses.dataclass(frozen=True, eq=False)
class Spectrum:
    """A = V diag(eigenvalues) V⁻¹ with unit columns of V, and the condition number of V."""

    eigenvalues: Inexact[np.ndarray, " order"]
    V: Inexact[np.ndarray, "order order"]
    V_inv: Inexact[np.ndarray, "order order"]
    condition: float


class IllConditioned(ValueError):
    """The eigenvectors are too nearly parallel for float64."""


def diagonalize(op: Operator) -> Spectrum:
    """Eigenvalues and eigenvectors of `op.A`, sorted by real then imaginary part.

    **Raises:** `IllConditioned` when κ(V) exceeds 1e8, instead of returning garbage.
    """
    if not isinstance(op, Operator):
        raise ValueError(f"op must be an Operator, got {type(op).__name__}")
    eigenvalues, V = np.linalg.eig(op.A)
    by_part = np.lexsort((np.imag(eigenvalues), np.real(eigenvalues)))
    eigenvalues, V = eigenvalues[by_part], V[:, by_part]
    condition = float(np.linalg.cond(V))
    if not condition <= LARGEST_CONDITION:
        raise IllConditioned(
            f"the eigenvectors of this {len(op.B)} × {len(op.B)} operator have κ(V) of at least "
            f"{condition:.0e}, above {LARGEST_CONDITION:.0e}: in float64 V⁻¹ would be rounding "
            "noise. Use operator(Fractional(alpha), order) with alpha ≥ 0.01, which is well "
            "conditioned, or modes(alpha, order), which serves every alpha, LegS included"
        )
    return Spectrum(eigenvalues, V, np.linalg.inv(V), condition)
