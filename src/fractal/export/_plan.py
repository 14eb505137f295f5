"""A `SequenceModel` as arrays and choices, for targets that know nothing of JAX.

What depends on the weights alone is computed once, in float64: eigenvalues times Δ, steady-state
responses (see `MixerPlan`), and batch norms as scales and shifts.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from .._errors import UserError
from ..nn import BatchNorm, Block, LayerNorm, OneHotLinear, RetrievalHead
from ._arguments import check_model
from ._mixer_plan import MIXERS, Dynamics, MixerPlan, dynamics_of, mixer_plan, wide

EPSILON = 1e-5  # of the norms


@dataclasses.dataclass(frozen=True)
class DensePlan:
    """y = weight x + bias."""

    weight: Float[np.ndarray, "outputs inputs"]
    bias: Float[np.ndarray, " outputs"]


@dataclasses.dataclass(frozen=True)
class NormPlan:
    """A layer norm, or the scale and shift that a batch norm is at inference."""

    kind: str
    scale: Float[np.ndarray, " width"]
    shift: Float[np.ndarray, " width"]


@dataclasses.dataclass(frozen=True)
class BlockPlan:
    """A block: norm, mixer, and the linear maps of its gate."""

    norm: NormPlan
    mixer: MixerPlan
    outer: DensePlan | None
    inner: DensePlan


@dataclasses.dataclass(frozen=True)
class Plan:
    """A model. `encoder` has one column per token, or per input channel."""

    tokens: bool
    encoder: DensePlan
    positions: str
    table: Float[np.ndarray, "length width"] | None
    blocks: tuple[BlockPlan, ...]
    gate: str
    norm: str
    dynamics: Dynamics
    final_norm: NormPlan | None
    pooling: str
    masking: str
    head: DensePlan
    pair: DensePlan | None
    dtype: str

    @property
    def inputs(self) -> int:
        """Size of the vocabulary, or number of input channels."""
        return self.encoder.weight.shape[1]

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.head.bias)

    @property
    def width(self) -> int:
        """Number of channels."""
        return len(self.encoder.bias)

    @property
    def causal(self) -> bool:
        """Whether the model has a step."""
        return not self.dynamics.bidirectional and self.pair is None


def make_plan(model: Any, target: str) -> Plan:
    """The plan of a model; `UserError` for what `target` does not support."""
    check_model(model)
    if model.dtype == "bfloat16":
        raise UserError(f"dtype='bfloat16' cannot be exported to {target}", argument="model")
    if not model.blocks:
        raise UserError(f"a model without blocks cannot be exported to {target}", argument="model")
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
    if not all(np.isfinite(leaf).all() for leaf in leaves):
        raise UserError("its parameters contain NaN or infinity", argument="model")
    alike = {_choices(block, target) for block in model.blocks}
    if len(alike) > 1:
        raise UserError(f"blocks that differ cannot be exported to {target}", argument="model")
    gate, norm, dynamics = alike.pop()
    pair = _dense(model.head.hidden) if isinstance(model.head, RetrievalHead) else None
    head = model.head.out if isinstance(model.head, RetrievalHead) else model.head
    return Plan(
        not isinstance(model.encoder, eqx.nn.Linear),
        _encoder(model.encoder),
        model.positions,
        None if model.table is None else wide(model.table),
        tuple(map(_block, model.blocks)),
        gate,
        norm,
        dynamics,
        None if model.final_norm is None else _norm("layer", model.final_norm),
        model.pooling,
        model.masking,
        _dense(head),
        pair,
        str(leaves[0].dtype),
    )


def _choices(block: Any, target: str) -> tuple[str, str, Dynamics]:
    """Gate, norm and dynamics of a block."""
    if not isinstance(block, Block):
        kind = type(block).__name__
        raise UserError(f"a block of type {kind} cannot be exported to {target}", argument="model")
    mixer = block.mixer
    if type(mixer) not in MIXERS:
        kind = type(mixer).__name__
        raise UserError(
            f"the mixer {kind} cannot be exported to {target}; stablehlo takes every mixer",
            argument="model",
        )
    return block.gate, _kind(block.norm), dynamics_of(mixer)


def _block(block: Any) -> BlockPlan:
    outer = None if block.outer is None else _dense(block.outer)
    return BlockPlan(
        _norm(_kind(block.norm), block.norm), mixer_plan(block.mixer), outer, _dense(block.inner)
    )


def _kind(norm: LayerNorm | BatchNorm) -> str:
    return "batch" if isinstance(norm, BatchNorm) else "layer"


def _norm(kind: str, norm: Any) -> NormPlan:
    scale, shift = wide(norm.weight), wide(norm.bias)
    if kind == "batch":
        scale = scale / np.sqrt(wide(norm.running.variance) + EPSILON)
        shift = shift - scale * wide(norm.running.mean)
    return NormPlan(kind, scale, shift)


def _encoder(encoder: Any) -> DensePlan:
    if isinstance(encoder, eqx.nn.Linear):
        return _dense(encoder)
    weight = wide(encoder.weight).T
    has_bias = isinstance(encoder, OneHotLinear)
    return DensePlan(weight, wide(encoder.bias) if has_bias else np.zeros(len(weight)))


def _dense(linear: eqx.nn.Linear) -> DensePlan:
    weight = wide(linear.weight)
    return DensePlan(weight, np.zeros(len(weight)) if linear.bias is None else wide(linear.bias))
