"""Encoders: token ids or real values to channels."""

# pyright: reportMissingImports=false

from typing import get_args

import torch
from torch import Tensor, nn

from .._checks import check_choice
from .._options import Encoder
from ._inputs import check_tokens
from ._linear import OneHotLinear, dense, linear


def make_encoder(
    kind: str | None, tokens: bool, inputs: int, width: int, dense_init: str
) -> nn.Linear | nn.Embedding | OneHotLinear:
    if not tokens:
        if kind is not None:
            raise ValueError(f"encoder={kind!r} is for tokens: leave it out for real values")
        return linear(inputs, width, dense_init)
    check_choice("encoder", "embedding" if kind is None else kind, get_args(Encoder))
    if kind == "one-hot":
        return OneHotLinear(inputs, width, dense_init=dense_init)
    return nn.Embedding(inputs, width)


def encode(
    encoder: nn.Linear | nn.Embedding | OneHotLinear, x: Tensor, axes: int, dtype: str, name: str
) -> Tensor:
    """Encode tokens or values with `axes` leading axes: 2 for sequences, 1 for a step."""
    if isinstance(encoder, nn.Linear):
        inputs = encoder.weight.shape[1]
        if x.ndim != axes + 1 or x.shape[-1] != inputs:
            raise ValueError(
                f"{name} must have {inputs} channels in its last axis, got {list(x.shape)}"
            )
        return dense(encoder, x.to(getattr(torch, dtype)))
    if x.ndim != axes or x.is_floating_point() or x.is_complex():
        raise ValueError(f"{name} must contain integer tokens, got {x.dtype}{list(x.shape)}")
    check_tokens(x, len(encoder.weight), name)
    return encoder(x.long()).to(getattr(torch, dtype))
