"""LegS as a normal matrix minus a rank-one one, from which S4, S4D, DSS and S5 start.

A = S − p pᵀ with S = −½ I + skew, so that S = V Λ V* with a unitary V, in any precision.
"""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex

from .. import theory


class NormalLegS(NamedTuple):
    """Half of the eigenvalues of S, those of negative frequency, the fastest first.

    The columns of V belong to them; P and B are p and LegS's input in their basis.
    """

    eigenvalues: Complex[np.ndarray, " half"]
    V: Complex[np.ndarray, "order half"]
    P: Complex[np.ndarray, " half"]
    B: Complex[np.ndarray, " half"]


@functools.cache
def normal_legs(order: int) -> NormalLegS:
    """The normal form of LegS of even order, in float64."""
    legs = theory.operator(theory.LegS(), order)
    p = np.sqrt(np.arange(order) + 0.5)
    S = np.outer(p, p) - legs.A
    frequencies, V = np.linalg.eigh(-1j * (S - S.T) / 2)
    kept = V[:, : order // 2]
    eigenvalues = np.mean(np.diag(S)) + 1j * frequencies[: order // 2]
    return NormalLegS(eigenvalues, kept, kept.conj().T @ p, kept.conj().T @ legs.B)
