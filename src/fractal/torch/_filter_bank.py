"""The filter bank: the modes of all blocks, trained individually or parameterized by a learned α.

See `fractal.nn.FreeBank` and `fractal.nn.LearnedAlphaBank`.
"""

# pyright: reportMissingImports=false

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from .._alpha_series import CENTER, HALF_WIDTH, LARGEST_LEARNED, scaled_log_odds, series_of_modes
from .._checks import check_choice, check_order
from .._spectra import BlockSpectrum


class FreeBank(nn.Module):
    """Trainable eigenvalues, initialized from the spectra of the blocks. Gains are part of B."""

    FIELDS = ("log_decay", "frequency")

    def __init__(self, blocks: Sequence[BlockSpectrum]):
        super().__init__()
        rates = np.concatenate([block.rates for block in blocks])
        self.log_decay = parameter(np.log(np.real(rates)))
        self.frequency = parameter(np.imag(rates))

    def check(self) -> None:
        """Raise `ValueError` for inconsistent shapes."""
        if self.log_decay.ndim != 1 or self.log_decay.shape != self.frequency.shape:
            raise ValueError("log_decay and frequency must have one entry per mode")

    def forward(self) -> tuple[Tensor, Tensor, Tensor]:
        """Decay and frequency of λ = decay + i·frequency, and the gain |b|, of each mode."""
        return torch.exp(self.log_decay), self.frequency, torch.ones_like(self.frequency)


class LearnedAlphaBank(nn.Module):
    """Eigenvalues and gains as functions of one learned α per block, by a Chebyshev series."""

    FIELDS = ("place", "init", "order")

    def __init__(self, init: str, order: int, alphas: Sequence[float]):
        super().__init__()
        if init == "published":
            raise ValueError("learn_alpha needs init='normal' or 'fractional': the published "
                             "spectrum is the same for every alpha")  # fmt: skip
        if max(alphas) > LARGEST_LEARNED:
            raise ValueError(f"alphas must not exceed {LARGEST_LEARNED} for learn_alpha=True")
        self.place = parameter(np.arctanh(scaled_log_odds(alphas)))
        self.init, self.order = init, order

    def check(self) -> None:
        """Raise `ValueError` for invalid options."""
        check_choice("init", self.init, ("normal", "fractional"))
        check_order(self.order)
        if self.place.ndim != 1:
            raise ValueError("place must have one entry per block")

    @property
    def alphas(self) -> Tensor:
        """The learned singularity indices, in [0.01, 0.94]."""
        odds = torch.exp(CENTER + HALF_WIDTH * torch.tanh(self.place))
        return odds / (1 + odds)

    def forward(self) -> tuple[Tensor, Tensor, Tensor]:
        """Decay and frequency of λ = decay + i·frequency, and the gain |b|, of each mode."""
        series, real = series_of_modes(self.init, self.order)
        coefficients = torch.as_tensor(series).to(self.place)
        angle = math.pi / 2 - 2 * torch.arctan(torch.tanh(self.place / 2))  # arccos(tanh(place))
        degrees = torch.arange(len(series), dtype=angle.dtype, device=angle.device)
        polynomials = torch.cos(angle[:, None] * degrees)
        decay, frequency, gain = torch.exp(torch.einsum("kd,dfm->fkm", polynomials, coefficients))
        frequency = torch.where(torch.as_tensor(real, device=angle.device), 0.0, frequency)
        return decay.flatten(), frequency.flatten(), gain.flatten()


def parameter(values: np.ndarray | Tensor) -> nn.Parameter:
    """A trainable parameter of the default dtype, on the default device."""
    made = torch.as_tensor(
        values, dtype=torch.get_default_dtype(), device=torch.get_default_device()
    )
    return nn.Parameter(made)
