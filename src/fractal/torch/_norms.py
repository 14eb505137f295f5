"""Layer normalization, and batch normalization over batch and time, as in `fractal.nn`."""

# pyright: reportMissingImports=false

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from .._checks import check_count, check_probability

_EPSILON = 1e-5


class LayerNorm(nn.Module):
    """Layer normalization: each step is normalized over its channels."""

    FIELDS = ("weight", "bias")

    def __init__(self, width: int):
        super().__init__()
        width = check_count("width", width, smallest=1)
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last axis, in the dtype of the parameters."""
        wide = x.to(self.weight.dtype)
        return layer_norm(wide, self.weight.shape, self.weight, self.bias, _EPSILON).to(x.dtype)


class Statistics(nn.Module):
    """Mean and variance per channel; buffers, which are not trained."""

    FIELDS = ("mean", "variance")
    mean: Tensor
    variance: Tensor

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))


class BatchNorm(nn.Module):
    """Batch normalization: each channel is normalized over batch and time, excluding padding.

    In training mode by the statistics of the batch, otherwise by running averages.
    """

    FIELDS = ("weight", "bias", "running", "momentum")

    def __init__(self, width: int, *, momentum: float = 0.95):
        super().__init__()
        width = check_count("width", width, smallest=1)
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.running, self.momentum = Statistics(width), momentum
        self.check()

    def check(self) -> None:
        """Raise `ValueError` for a momentum outside of [0, 1)."""
        check_probability("momentum", self.momentum)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize by the running averages."""
        return self._normalize(x, self.running.mean, self.running.variance)

    def by_batch(self, x: Tensor, kept: Tensor | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Normalize by the statistics of a batch (batch, time, width), which are returned too."""
        wide = x.to(self.weight.dtype)
        if kept is None:
            mean = wide.mean((0, 1))
            variance = ((wide - mean) ** 2).mean((0, 1))
        else:
            counted = kept[..., None]
            count = kept.sum().clamp(min=1).to(wide.dtype)
            mean = torch.where(counted, wide, 0.0).sum((0, 1)) / count
            variance = torch.where(counted, (wide - mean) ** 2, 0.0).sum((0, 1)) / count
        return self._normalize(x, mean, variance), (mean.detach(), variance.detach())

    @torch.no_grad()
    def update(self, mean: Tensor, variance: Tensor) -> None:
        """Update the running averages by the statistics of a batch."""
        weight = 1 - self.momentum
        self.running.mean.lerp_(mean, weight)
        self.running.variance.lerp_(variance, weight)

    def _normalize(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        scaled = (x.to(self.weight.dtype) - mean) * torch.rsqrt(variance + _EPSILON)
        return (self.weight * scaled + self.bias).to(x.dtype)


NORMS: dict[str, type[LayerNorm] | type[BatchNorm]] = {"layer": LayerNorm, "batch": BatchNorm}
