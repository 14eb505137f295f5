"""The built-in models, registered by the function that users call."""

import functools
from typing import Any

from jaxtyping import PRNGKeyArray

from .. import baselines
from ..nn import FractalSSM
from ._models import register_model

_ATTENTION_LR = 1e-3  # training of Transformers is unstable above it


def _eigenproblem(order: int) -> float:
    """Bytes of a dense complex eigenproblem: matrix, eigenvectors and their inverse."""
    return 48.0 * order**2


def _transformer(
    width: int,
    *,
    heads: int = 4,
    qkv: int | None = None,
    mlp: int | None = None,
    bidirectional: bool = True,
    dropout: float = 0.0,
    key: PRNGKeyArray,
) -> baselines.TransformerBlock:
    attention = functools.partial(baselines.Attention, heads=heads, qkv=qkv)
    return _block(attention, width, mlp, bidirectional, dropout, key)


def _performer(
    width: int,
    *,
    heads: int = 4,
    qkv: int | None = None,
    features: str = "favor",
    count: int = 256,
    mlp: int | None = None,
    bidirectional: bool = True,
    dropout: float = 0.0,
    key: PRNGKeyArray,
) -> baselines.TransformerBlock:
    attention = functools.partial(
        baselines.Performer, heads=heads, qkv=qkv, features=features, count=count
    )
    return _block(attention, width, mlp, bidirectional, dropout, key)


def _block(
    attention: Any, width: int, mlp: int | None, bidirectional: bool, dropout: float, key: Any
) -> baselines.TransformerBlock:
    directed = functools.partial(attention, causal=not bidirectional)
    return baselines.TransformerBlock(width, attention=directed, mlp=mlp, dropout=dropout, key=key)


register_model(
    "fractal", FractalSSM, size="order", grain=2, length="length", setup_bytes=_eigenproblem
)
register_model(
    "s5", baselines.S5, size="order", grain=16, gate="half_glu2", setup_bytes=_eigenproblem
)
register_model(
    "s4",
    baselines.S4,
    size="order",
    grain=2,
    gate="full_glu",
    length="length",
    setup_bytes=_eigenproblem,
)
register_model(
    "s4d", baselines.S4D, size="order", grain=2, gate="full_glu", setup_bytes=_eigenproblem
)
register_model("dss", baselines.DSS, size="order", gate="full_glu", setup_bytes=_eigenproblem)
register_model("lmu", baselines.LMU, size="order", length="window", setup_bytes=_eigenproblem)
for _name, _factory in (("transformer", _transformer), ("performer", _performer)):
    register_model(
        _name,
        _factory,
        kind="block",
        size="mlp",
        grain=4,
        positions="sinusoid",
        final_norm=True,
        settings_of="transformer",
        max_lr=_ATTENTION_LR,
    )
