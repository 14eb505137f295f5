"""The filter bank over α: the modes of all blocks, trained freely or tied to a learned α.

Rates are exp(log decay) + i·frequency: the decay stays positive, so no step of training can make
a mode unstable.
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

LARGEST_LEARNED = 0.94  # the spectra are smooth from SMALLEST_ALPHA up to here


class BankModes(NamedTuple):
    """Decay and frequency of λ = decay + i·frequency, and the gain |b|, of each mode."""

    decay: Float[Array, " modes"]
    frequency: Float[Array, " modes"]
    gain: Float[Array, " modes"]


class FreeBank(eqx.Module):
    """Each mode has its own eigenvalue; α only sets where it starts. Gains are left to B."""

    log_decay: Float[Array, " modes"]
    frequency: Float[Array, " modes"]

    def __init__(self, blocks: Sequence[BlockSpectrum]):
        rates = np.concatenate([block.rates for block in blocks])
        self.log_decay = jnp.asarray(np.log(np.real(rates)))
        self.frequency = jnp.asarray(np.imag(rates))

    def __call__(self) -> BankModes:
        """The modes of all blocks."""
        return BankModes(jnp.exp(self.log_decay), self.frequency, jnp.ones_like(self.frequency))


def learnable(alphas: Sequence[float]) -> list[float]:
    """Where learned α begin: at the given ones, or a little inside of either end."""
    odds = np.exp(_MIDDLE + _REACH * _places(alphas))
    return (odds / (1 + odds)).tolist()


def _places(alphas: Sequence[float]) -> Float[np.ndarray, " blocks"]:
    """Where α stand between the ends, −1 and 1; not at them, where the gradient is zero."""
    x = (_log_odds(np.clip(alphas, SMALLEST_ALPHA, LARGEST_LEARNED)) - _MIDDLE) / _REACH
    return np.clip(x, -0.98, 0.98)


class LearnedAlphaBank(eqx.Module):
    """Eigenvalues and gains follow one learned α for each block.

    They are smooth in α, and are read from a Chebyshev series, so that gradients need no
    eigensolver and run on any device. The series is in log(α/(1−α)): eigenvalues meet near α = 0
    and the damping ends at α = 1, which that variable moves far away.
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
        self.place = jnp.asarray(np.arctanh(_places(alphas)))
        self.init, self.order = init, order

    def __check_init__(self):
        check_choice("init", self.init, ("normal", "fractional"))
        check_order(self.order)

    @property
    def alphas(self) -> Float[Array, " blocks"]:
        """The learned singularity indices, within [0.01, 0.94]."""
        odds = jnp.exp(_MIDDLE + _REACH * jnp.tanh(self.place))
        return odds / (1 + odds)

    def __call__(self) -> BankModes:
        """The modes of all blocks."""
        series, real = _series(self.init, self.order)
        angle = jnp.pi / 2 - 2 * jnp.arctan(jnp.tanh(self.place / 2))  # arccos(tanh(place))
        polynomials = jnp.cos(angle[:, None] * np.arange(len(series)))
        logs = jnp.einsum("kd,dfm->fkm", polynomials, jnp.asarray(series, polynomials.dtype))
        decay, frequency, gain = jnp.exp(logs)
        return BankModes(decay.ravel(), jnp.where(real, 0.0, frequency).ravel(), gain.ravel())


def _log_odds(alpha):
    return np.log(alpha / (1 - alpha))


_ENDS = _log_odds(np.array([SMALLEST_ALPHA, LARGEST_LEARNED]))
_MIDDLE, _REACH = float(_ENDS.mean()), float(np.ptp(_ENDS) / 2)
_DEGREE = 64  # the largest error of the logarithms is then 2e-9, at order 64


@functools.cache
def _series(init: str, order: int) -> tuple[Float[np.ndarray, "degree 3 modes"], np.ndarray]:
    """Coefficients of log decay, log frequency and log gain; and which modes are real."""
    angles = np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1)
    alphas = 1 / (1 + np.exp(-(_MIDDLE + _REACH * np.cos(angles))))
    blocks = [spectrum(init, alpha, order) for alpha in alphas]
    rates = np.stack([block.rates for block in blocks])
    real = np.imag(rates[0]) == 0
    frequencies = np.where(real, 1.0, np.imag(rates))
    logs = np.log(np.stack([np.real(rates), frequencies, [b.gains for b in blocks]], axis=1))
    # Orthogonality of the polynomials on these nodes.
    weights = np.cos(np.arange(_DEGREE + 1)[:, None] * angles) * 2 / (_DEGREE + 1)
    weights[0] /= 2
    return np.einsum("dn,nfm->dfm", weights, logs), real
