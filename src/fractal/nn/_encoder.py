"""Encoders: token ids or real values to channels."""

from typing import get_args

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_choice
from .._engine.inputs import check_tokens
from .._options import Encoder
from ._linear import OneHotLinear, dense, linear


def make_encoder(
    kind: str | None, tokens: bool, inputs: int, width: int, dense_init: str, key: PRNGKeyArray
) -> eqx.nn.Embedding | OneHotLinear | eqx.nn.Linear:
    if not tokens:
        if kind is not None:
            raise ValueError(f"encoder={kind!r} is for tokens: leave it out for real values")
        return linear(inputs, width, dense_init, key=key)
    check_choice("encoder", "embedding" if kind is None else kind, get_args(Encoder))
    if kind == "one-hot":
        return OneHotLinear(inputs, width, dense_init=dense_init, key=key)
    return eqx.nn.Embedding(inputs, width, key=key)


def encode(
    encoder: eqx.nn.Embedding | OneHotLinear | eqx.nn.Linear,
    x: Array,
    axes: int,
    dtype: str,
    name: str = "x",
) -> Float[Array, "*time width"]:
    """Encode tokens or values with `axes` leading axes: 1 for a sequence, 0 for a step."""
    if isinstance(encoder, eqx.nn.Embedding | OneHotLinear):
        if x.ndim != axes or not jnp.issubdtype(x.dtype, jnp.integer):
            raise ValueError(f"{name} must contain integer tokens, got {x.dtype}{list(x.shape)}")
        check_tokens(x, len(encoder.weight), name)
        rows = encoder(x) if isinstance(encoder, OneHotLinear) else encoder.weight[x]
        return rows.astype(dtype)
    inputs = encoder.weight.shape[1]
    if x.ndim != axes + 1 or x.shape[-1] != inputs:
        raise ValueError(
            f"{name} must have {inputs} channels in its last axis, got {list(x.shape)}"
        )
    return dense(encoder, x.astype(dtype))
