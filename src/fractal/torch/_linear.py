"""Linear layers with a choice of initialization, as in `fractal.nn`."""

# pyright: reportMissingImports=false

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import check_choice, check_count
from .._options import DENSE_INITS

_CUT = 0.87962566103423978  # standard deviation of a normal variable cut off at ±2


def linear(inputs: int, outputs: int, init: str) -> nn.Linear:
    """A linear layer with bias: `"uniform"`, PyTorch's default, or `"lecun"`, Flax's."""
    check_choice("dense_init", init, DENSE_INITS)
    layer = nn.Linear(inputs, outputs)
    if init == "lecun":
        std = 1 / (math.sqrt(inputs) * _CUT)
        nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std)
        nn.init.zeros_(layer.bias)
    return layer


def dense(layer: nn.Linear, x: Tensor) -> Tensor:
    """Apply a linear layer in the dtype of x."""
    bias = None if layer.bias is None else layer.bias.to(x.dtype)
    return functional.linear(x, layer.weight.to(x.dtype), bias)


class OneHotLinear(nn.Module):
    """A linear map with bias of one-hot tokens, the encoder of the published S5."""

    FIELDS = ("weight", "bias")

    def __init__(self, inputs: int, width: int, *, dense_init: str = "lecun"):
        super().__init__()
        inputs = check_count("inputs", inputs, smallest=1)
        layer = linear(inputs, check_count("width", width, smallest=1), dense_init)
        self.weight, self.bias = nn.Parameter(layer.weight.detach().T.contiguous()), layer.bias

    def forward(self, tokens: Tensor) -> Tensor:
        """Encode token ids."""
        return self.weight[tokens] + self.bias


def tanh_gelu(x: Tensor) -> Tensor:
    """The GELU in JAX's default form, approximated by a tanh."""
    return functional.gelu(x, approximate="tanh")


def random_table(rows: int, width: int) -> nn.Parameter:
    """Learned position embeddings."""
    return nn.Parameter(0.02 * torch.randn(rows, width))
