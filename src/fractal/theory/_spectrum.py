"""Eigendecomposition of operators, with a bound on the condition number."""

import dataclasses

import numpy as np
from jaxtyping import Inexact

from ._operators import Operator

LARGEST_CONDITION = 1e8  # half of the digits of float64 remain


@dataclasses.dataclass(frozen=True, eq=False)
class Spectrum:
    """A = V diag(eigenvalues) V⁻¹ with unit columns of V, and the condition number of V."""

    eigenvalues: Inexact[np.ndarray, " order"]
    V: Inexact[np.ndarray, "order order"]
    V_inv: Inexact[np.ndarray, "order order"]
    condition: float


class IllConditioned(ValueError):
    """Raised if the eigenvectors are too ill-conditioned for float64."""


def diagonalize(op: Operator) -> Spectrum:
    """Eigendecomposition of `op.A`, sorted by real, then by imaginary part.

    **Raises:** `IllConditioned` if κ(V) exceeds 1e8.
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
            "conditioned, or modes(alpha, order), which supports every alpha, LegS included"
        )
    return Spectrum(eigenvalues, V, np.linalg.inv(V), condition)
