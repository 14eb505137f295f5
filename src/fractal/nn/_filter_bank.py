"""The filter bank: the modes of all blocks, trained individually or parameterized by a learned α.

Eigenvalues are λ = exp(log_decay) + i·frequency. Their real part is positive by construction, so
that modes remain stable during training.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._checks import check_choice, check_order
from ._spectra import SMALLEST_ALPHA, BlockSpectrum, spectrum

LARGEST_LEARNED = 0.94  # the spectra are smooth in α from SMALLEST_ALPHA to this value


class BankModes(NamedTuple):
    """Decay and frequency of λ = decay + i·frequency, and the gain |b|, of each mode."""

    decay: Float[Array, " modes"]
    frequency: Float[Array, " modes"]
    gain: Float[Array, " modes"]


class FreeBank(eqx.Module):
    """Trainable eigenvalues, initialized from the spectra of the blocks. Gains are part of B."""

    log_decay: Float[Array, " modes"]
    frequency: Float[Array, " modes"]

    def __init__(self, blocks: Sequence[BlockSpectrum]):
        if not blocks or not all(isinstance(block, BlockSpectrum) for block in blocks):
            raise ValueError("blocks must be spectra of filter-bank blocks, at least one")
        rates = np.concatenate([block.rates for block in blocks])
        self.log_decay = jnp.asarray(np.log(np.real(rates)))
        self.frequency = jnp.asarray(np.imag(rates))

    def __call__(self) -> BankModes:
        """The modes of all blocks, concatenated."""
        return BankModes(jnp.exp(self.log_decay), self.frequency, jnp.ones_like(self.frequency))


def initial_alphas(alphas: Sequence[float]) -> list[float]:
    """Initial values of learned α: the given ones, clipped to the interior of the range."""
    odds = np.exp(_CENTER + _HALF_WIDTH * _scaled_log_odds(alphas))
    return (odds / (1 + odds)).tolist()


def _scaled_log_odds(alphas: Sequence[float]) -> Float[np.ndarray, " blocks"]:
    """log(α/(1−α)), scaled to [−1, 1] and clipped, since the gradient vanishes at the ends."""
    x = (_log_odds(np.clip(alphas, SMALLEST_ALPHA, LARGEST_LEARNED)) - _CENTER) / _HALF_WIDTH
    return np.clip(x, -0.98, 0.98)


class LearnedAlphaBank(eqx.Module):
    """Eigenvalues and gains as functions of one learned α per block.

    They are smooth in α and are evaluated by a Chebyshev series, so that gradients need no
    eigensolver and are available on all devices. The variable of the series is log(α/(1−α)), which
    maps the singularities near α = 0 (coinciding eigenvalues) and at α = 1 (zero decay) to
    infinity. The trained parameter `place` is unconstrained: tanh(place) ∈ (−1, 1) is the scaled
    variable.
    """

    place: Float[Array, " blocks"]
    init: str = eqx.field(static=True)
    order: int = eqx.field(static=True)

    def __init__(self, init: str, order: int, alphas: Sequence[float]):
        if init == "published":
            raise ValueError("learn_alpha needs init='normal' or 'fractional': the published "
                             "spectrum is the same for every alpha")  # fmt: skip
        if max(alphas) > LARGEST_LEARNED:
            raise ValueError(f"alphas must not exceed {LARGEST_LEARNED} for learn_alpha=True")
        self.place = jnp.asarray(np.arctanh(_scaled_log_odds(alphas)))
        self.init, self.order = init, order

    def __check_init__(self):
        check_choice("init", self.init, ("normal", "fractional"))
        check_order(self.order)

    @property
    def alphas(self) -> Float[Array, " blocks"]:
        """The learned singularity indices, in [0.01, 0.94]."""
        odds = jnp.exp(_CENTER + _HALF_WIDTH * jnp.tanh(self.place))
        return odds / (1 + odds)

    def __call__(self) -> BankModes:
        """The modes of all blocks, concatenated."""
        series, real = _series(self.init, self.order)
        angle = jnp.pi / 2 - 2 * jnp.arctan(jnp.tanh(self.place / 2))  # arccos(tanh(place))
        polynomials = jnp.cos(angle[:, None] * np.arange(len(series)))
        logs = jnp.einsum("kd,dfm->fkm", polynomials, jnp.asarray(series, polynomials.dtype))
        decay, frequency, gain = jnp.exp(logs)
        return BankModes(decay.ravel(), jnp.where(real, 0.0, frequency).ravel(), gain.ravel())


def _log_odds(alpha):
    return np.log(alpha / (1 - alpha))


_ENDS = _log_odds(np.array([SMALLEST_ALPHA, LARGEST_LEARNED]))
_CENTER, _HALF_WIDTH = float(_ENDS.mean()), float(np.ptp(_ENDS) / 2)
_DEGREE = 64  # maximum error of the logarithms: 2e-9, at order 64


@functools.cache
def _series(init: str, order: int) -> tuple[Float[np.ndarray, "degree 3 modes"], np.ndarray]:
    """Chebyshev coefficients of log decay, log frequency and log gain; and a mask of real modes."""
    angles = np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1)
    alphas = 1 / (1 + np.exp(-(_CENTER + _HALF_WIDTH * np.cos(angles))))
    blocks = [spectrum(init, alpha, order) for alpha in alphas]
    rates = np.stack([block.rates for block in blocks])
    real = np.imag(rates[0]) == 0
    frequencies = np.where(real, 1.0, np.imag(rates))
    logs = np.log(np.stack([np.real(rates), frequencies, [b.gains for b in blocks]], axis=1))
    # Discrete orthogonality of the Chebyshev polynomials on these nodes.
    weights = np.cos(np.arange(_DEGREE + 1)[:, None] * angles) * 2 / (_DEGREE + 1)
    weights[0] /= 2
    return np.einsum("dn,nfm->dfm", weights, logs), real
