"""LegS as a normal matrix minus a rank-one matrix: the initialization of S4, S4D, DSS and S5.

A = S − p pᵀ with S = −½ I + skew, so that S = V Λ V* with a unitary V, in any precision.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex

from .. import theory


class NormalLegS(NamedTuple):
    """The eigenvalues of S with negative frequency, in order of decreasing modulus.

    The columns of V are the eigenvectors; P and B are p and the input vector of LegS in this basis.
    """

    eigenvalues: Complex[np.ndarray, " half"]
    V: Complex[np.ndarray, "order half"]
    P: Complex[np.ndarray, " half"]
    B: Complex[np.ndarray, " half"]


@functools.cache
def normal_legs(order: int) -> NormalLegS:
    """The normal part of LegS of even order, in float64."""
    legs = theory.operator(theory.LegS(), order)
    p = np.sqrt(np.arange(order) + 0.5)
    S = np.outer(p, p) - legs.A
    frequencies, V = np.linalg.eigh(-1j * (S - S.T) / 2)
    kept = V[:, : order // 2]
    eigenvalues = np.mean(np.diag(S)) + 1j * frequencies[: order // 2]
    return NormalLegS(eigenvalues, kept, kept.conj().T @ p, kept.conj().T @ legs.B)
