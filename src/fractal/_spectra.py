"""Spectral initialization: eigenvalues and gains of one block of the filter bank.

A block of order N has one mode dz/ds = −λ z + b u per eigenvalue λ of its operator. One mode of
each conjugate pair is stored. The phase of b is absorbed by the readout: the gain is |b|.
"""

from typing import NamedTuple, SupportsIndex

import numpy as np
from jaxtyping import Complex, Float

from . import theory
from ._checks import check_alpha, check_choice, check_order

SMALLEST_ALPHA = 0.01  # the eigenvectors of the fractional operator are ill-conditioned below
INITS = ("normal", "fractional", "published")
IMAGINARY = ("lin", "inv", "none")


class BlockSpectrum(NamedTuple):
    """Eigenvalues λ (with positive real part) and gains |b| of the stored modes."""

    rates: Complex[np.ndarray, " modes"]
    gains: Float[np.ndarray, " modes"]


def spectrum(
    init: str, alpha: float, order: SupportsIndex, imaginary: str | None = None
) -> BlockSpectrum:
    """Eigenvalues and gains of a block of order `order` for the measure with index `alpha`.

    **Arguments:**

    - `init`: `"normal"`, N/2 pairs of equal decay; `"fractional"`, the eigenvalues of the operator,
      two of them real; `"published"`, the N real eigenvalues of the paper.
    - `imaginary`: imaginary part added to the eigenvalues of `"published"`: `"lin"` (the default),
      `"inv"` or `"none"`.
    """
    order = check_order(order)
    check_choice("init", init, INITS)
    if imaginary is not None and init != "published":
        raise ValueError(f"imaginary is for init='published' only, got init={init!r}")
    if init == "published":
        return _published(check_alpha(alpha), order, imaginary or "lin")
    if init == "fractional" and alpha >= SMALLEST_ALPHA:
        return _fractional(check_alpha(alpha, largest=theory.LARGEST_ALPHA), order)
    return _normal(check_alpha(alpha), order)


def _normal(alpha: float, order: int) -> BlockSpectrum:
    """The normal part of the operator, (1−α)/2 + S with S skew-symmetric; HiPPO-N at α = 0."""
    n = np.arange(order)
    g = np.sqrt(2 * n + 1 - alpha)
    skew = np.outer(g, g) / 2 * np.sign(n[:, None] - n)
    frequencies, V = np.linalg.eigh(-1j * skew)
    upper = frequencies > 0
    return BlockSpectrum((1 - alpha) / 2 + 1j * frequencies[upper], np.abs(V.conj().T @ g)[upper])


def _fractional(alpha: float, order: int) -> BlockSpectrum:
    """Eigenvalues of the fractional operator: the two real ones, then pairs by frequency."""
    operator = theory.operator(theory.Fractional(alpha), order)
    rates, V = np.linalg.eig(operator.A)
    gains = np.abs(np.linalg.solve(V, operator.B.astype(complex)))
    ascending = np.lexsort((np.real(rates), np.imag(rates)))
    kept = ascending[np.imag(rates)[ascending] >= 0]
    return BlockSpectrum(rates[kept].astype(complex), gains[kept])


def _published(alpha: float, order: int, imaginary: str) -> BlockSpectrum:
    """The published eigenvalues 1 … N plus an imaginary part as in S4D; gains |V⁻¹B|, exact."""
    check_choice("imaginary", imaginary, IMAGINARY)
    spec = theory.published_spectrum(alpha, order)
    if spec.condition > 1 / float(np.finfo(np.float32).eps):
        raise ValueError(
            f"order must be smaller for init='published', got {order}: its eigenvectors have "
            f"condition {spec.condition:.0e}, beyond float32; init='fractional' supports any order"
        )
    n = np.arange(order)
    added = {"lin": np.pi * n, "inv": order / np.pi * (order / (2 * n + 1) - 1), "none": 0 * n}
    B = theory.published_operator(alpha, order).B
    return BlockSpectrum(spec.eigenvalues + 1j * added[imaginary], np.abs(spec.V_inv @ B))
