"""Random initialization, of the same distribution as that of `fractal.nn.FractalSSM`.

One half of the output variance for white-noise input is due to the modes, in equal shares of the
blocks, the other half to D.
"""

# pyright: reportMissingImports=false

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .._spectra import BlockSpectrum
from ._discretize import gate_and_complement


class InitialTensors(NamedTuple):
    """Parameters of a layer other than its eigenvalues, in float64."""

    log_dt: Tensor
    B: Tensor
    C: Tensor
    D: Tensor


def initial_tensors(
    blocks: list[BlockSpectrum],
    dt_range: tuple[float, float],
    periods: tuple[float, ...] | None,
    *,
    width: int,
    shared: bool,
    scans: int,
    uniform: bool,
    discretization: str,
) -> InitialTensors:
    """Sample the initial parameters of a layer.

    **Arguments:**

    - `periods`: periods in steps with which the modes resonate, assigned cyclically.
    - `shared`: one Δ and one input direction per block, instead of one per mode.
    - `scans`: number of scans: 2 for a bidirectional layer.
    - `uniform`: True for the uniform clock; otherwise the variance at the first sample is
      normalized.
    """
    sizes = [len(block.rates) for block in blocks]
    rates = torch.as_tensor(np.concatenate([block.rates for block in blocks]), device="cpu")
    gains = torch.as_tensor(np.concatenate([block.gains for block in blocks]), device="cpu")
    modes, block = len(rates), torch.repeat_interleave(torch.tensor(sizes, device="cpu"))
    low, high = math.log(dt_range[0]), math.log(dt_range[1])
    log_dt = low + (high - low) * _random(torch.rand, len(sizes) if shared else modes)
    if periods is not None:
        every = torch.as_tensor(np.resize(periods, modes), device="cpu")
        log_dt = _resonant(log_dt, rates.imag, every)
    B = _directions(rates, block, width, shared)

    # The variance of a mode is |b̄|²/(1 − |g|²); it is normalized by one factor per block.
    power = (B**2).sum((0, 2)) * (gains / rates.abs()) ** 2
    if uniform:
        dt = torch.exp(log_dt[block] if shared else log_dt)
        one = torch.ones(1, 1, 1, dtype=dt.dtype, device="cpu")
        weight = gate_and_complement(discretization, rates.real * dt, rates.imag * dt, one)[1]
        real, imaginary = weight[0, 0].unbind(-1)
        size = real**2 + imaginary**2
        power = power * size / (2 * real - size)  # 1 − |g|², from 1 − g
    total = torch.zeros(len(sizes), dtype=power.dtype, device="cpu").index_add(0, block, power)
    B = B * torch.sqrt(modes / (2 * len(sizes) * total))[block][:, None]
    return InitialTensors(
        log_dt,
        B.flatten(0, 1),
        _readout(rates, width, scans),
        _random(torch.randn, width) * math.sqrt(0.5),
    )


def _random(sample, *shape: int) -> Tensor:
    return sample(*shape, dtype=torch.float64, device="cpu")


def _resonant(log_dt: Tensor, frequency: Tensor, periods: Tensor) -> Tensor:
    """Round Δ·frequency to a multiple of 2π/period; slower modes keep their Δ."""
    fundamental = 2 * math.pi / periods
    harmonic = torch.round(torch.exp(log_dt) * frequency / fundamental)
    rounded = torch.log(harmonic * fundamental / torch.where(harmonic > 0, frequency, 1.0))
    return torch.where(harmonic > 0, rounded, log_dt)


def _directions(rates: Tensor, block: Tensor, width: int, shared: bool) -> Tensor:
    """Real and imaginary input directions (2, modes, width) of unit expected squared norm.

    One per mode, or a real one per block. Directions of real modes are real.
    """
    if shared:
        one = _random(torch.randn, int(block[-1]) + 1, width) / math.sqrt(width)
        return torch.stack([one[block], torch.zeros_like(one[block])])
    real, imaginary = _random(torch.randn, 2, len(rates), width) / math.sqrt(2 * width)
    is_real = rates.imag[:, None] == 0
    return torch.stack(
        [torch.where(is_real, math.sqrt(2) * real, real), torch.where(is_real, 0.0, imaginary)]
    )


def _readout(rates: Tensor, width: int, scans: int) -> Tensor:
    """Weights of the real and imaginary parts in all scans; imaginary ones of real modes are 0."""
    weight = _random(torch.randn, width, scans, 2, len(rates))
    weight[:, :, 1] *= rates.imag != 0
    return weight.reshape(width, -1) / math.sqrt(len(rates) * scans)
