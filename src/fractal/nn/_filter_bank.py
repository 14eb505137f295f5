"""The filter bank: the modes of all blocks, trained individually or parameterized by a learned α.

Eigenvalues are λ = exp(log_decay) + i·frequency. Their real part is positive by construction, so
that modes remain stable during training.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._alpha_series import (
    CENTER,
    HALF_WIDTH,
    LARGEST_LEARNED,
    scaled_log_odds,
    series_of_modes,
)
from .._checks import check_choice, check_order
from .._spectra import BlockSpectrum


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
        self.place = jnp.asarray(np.arctanh(scaled_log_odds(alphas)))
        self.init, self.order = init, order

    def __check_init__(self):
        check_choice("init", self.init, ("normal", "fractional"))
        check_order(self.order)

    @property
    def alphas(self) -> Float[Array, " blocks"]:
        """The learned singularity indices, in [0.01, 0.94]."""
        odds = jnp.exp(CENTER + HALF_WIDTH * jnp.tanh(self.place))
        return odds / (1 + odds)

    def __call__(self) -> BankModes:
        """The modes of all blocks, concatenated."""
        series, real = series_of_modes(self.init, self.order)
        angle = jnp.pi / 2 - 2 * jnp.arctan(jnp.tanh(self.place / 2))  # arccos(tanh(place))
        degrees = jnp.arange(len(series), dtype=angle.dtype)
        polynomials = jnp.cos(angle[:, None] * degrees[None])
        logs = jnp.einsum("kd,dfm->fkm", polynomials, jnp.asarray(series, polynomials.dtype))
        decay, frequency, gain = jnp.exp(logs)
        return BankModes(decay.ravel(), jnp.where(real[None], 0.0, frequency).ravel(), gain.ravel())
