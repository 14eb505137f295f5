"""A `SequenceModel` as arrays and choices, for targets that know nothing of JAX.

What depends on the weights alone is computed here, in float64: eigenvalues times Δ, steady-state
responses, and batch norms as scales and shifts.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float

from .._checks import check_count
from .._errors import UserError
from ..nn import BatchNorm, Block, FractalSSM, LayerNorm, OneHotLinear, RetrievalHead, SequenceModel

EPSILON = 1e-5  # of the norms
# Fields of a layer that a plan contains; `scan` does not change its numbers.
_FIELDS = {"bank", "log_dt", "B", "C", "D", "sizes", "clock", "discretization", "bidirectional",
           "scan"}  # fmt: skip


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
class MixerPlan:
    """Modes dz/ds = rates · (response u − z), and the output readout [Re z, Im z] + skip u.

    A bidirectional layer has a second set of modes, whose readout follows the first.
    """

    rates: Complex[np.ndarray, " modes"]
    response: Complex[np.ndarray, "modes width"]
    readout: Float[np.ndarray, "width parts"]
    skip: Float[np.ndarray, " width"]


@dataclasses.dataclass(frozen=True)
class BlockPlan:
    """A block: norm, mixer, and the linear maps of its gate."""

    norm: NormPlan
    mixer: MixerPlan
    outer: DensePlan | None
    inner: DensePlan


@dataclasses.dataclass(frozen=True)
class Choices:
    """What all blocks of a model have in common."""

    gate: str
    norm: str
    clock: str
    discretization: str
    bidirectional: bool
    modes: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """A model. `encoder` has one column per token, or per input channel."""

    tokens: bool
    encoder: DensePlan
    positions: str
    table: Float[np.ndarray, "length width"] | None
    blocks: tuple[BlockPlan, ...]
    choices: Choices
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
        return not self.choices.bidirectional and self.pair is None

    @property
    def scale_invariant(self) -> bool:
        """Whether the modes run on the scale-invariant clock."""
        return self.choices.clock == "scale-invariant"


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
    pair = _dense(model.head.hidden) if isinstance(model.head, RetrievalHead) else None
    head = model.head.out if isinstance(model.head, RetrievalHead) else model.head
    return Plan(
        not isinstance(model.encoder, eqx.nn.Linear),
        _encoder(model.encoder),
        model.positions,
        None if model.table is None else _wide(model.table),
        tuple(map(_block, model.blocks)),
        alike.pop(),
        None if model.final_norm is None else _norm("layer", model.final_norm),
        model.pooling,
        model.masking,
        _dense(head),
        pair,
        str(leaves[0].dtype),
    )


def check_model(model: Any) -> None:
    """Raise `UserError` for anything but a `SequenceModel`."""
    if not isinstance(model, SequenceModel):
        kind = type(model).__name__
        raise UserError(f"must be a SequenceModel, got a {kind}", argument="model")


def whole_only(model: SequenceModel) -> str | None:
    """Why a model has no step; None if it has one."""
    if isinstance(model.head, RetrievalHead):
        return "task='retrieval' needs two whole sequences"
    if any(block.mixer.bidirectional for block in model.blocks):
        return "a bidirectional model needs whole sequences"
    return None


def check_length(model: SequenceModel, length: Any, durations: bool) -> int | None:
    """Validate the number of steps of whole sequences; None for a step only."""
    if length is None:
        if why := whole_only(model):
            raise UserError(f"must be given: {why}", argument="length")
        if durations:
            raise UserError("must be given with durations", argument="length")
        return None
    steps = check_count("length", length, smallest=1)
    if model.table is not None:
        check_count("length", steps, 1, len(model.table), ", the number of learned positions")
    return steps


def unit_complement(
    discretization: str, rates: Complex[np.ndarray, " modes"]
) -> Complex[np.ndarray, " modes"]:
    """1 − gate of each mode for an elapsed time of 1."""
    return -np.expm1(-rates) if discretization == "zoh" else rates / (1 + rates / 2)


def _choices(block: Any, target: str) -> Choices:
    if not isinstance(block, Block):
        kind = type(block).__name__
        raise UserError(f"a block of type {kind} cannot be exported to {target}", argument="model")
    mixer = block.mixer
    if type(mixer) is not FractalSSM:
        kind = type(mixer).__name__
        raise UserError(
            f"the mixer {kind} cannot be exported to {target}; stablehlo takes every mixer",
            argument="model",
        )
    for name in (field.name for field in dataclasses.fields(mixer)):
        value = getattr(mixer, name)
        if name not in _FIELDS and value is not None and value is not False:
            message = f"FractalSSM with {name} cannot be exported to {target}"
            raise UserError(f"{message}; stablehlo takes every mixer", argument="model")
    return Choices(
        block.gate,
        _kind(block.norm),
        mixer.clock,
        mixer.discretization,
        mixer.bidirectional,
        sum(mixer.sizes),
    )


def _block(block: Any) -> BlockPlan:
    outer = None if block.outer is None else _dense(block.outer)
    return BlockPlan(
        _norm(_kind(block.norm), block.norm), _mixer(block.mixer), outer, _dense(block.inner)
    )


def _mixer(mixer: FractalSSM) -> MixerPlan:
    with jax.enable_x64(True):
        bank = jax.tree.map(lambda leaf: jnp.asarray(_wide(leaf)), mixer.bank)
        decay, frequency, gain = map(_wide, bank())
    log_dt = _wide(mixer.log_dt)
    if len(log_dt) != sum(mixer.sizes):
        log_dt = np.repeat(log_dt, mixer.sizes)
    real, imaginary = np.split(_wide(mixer.B), 2)
    rates = decay + 1j * frequency
    return MixerPlan(
        rates * np.exp(log_dt),
        (real + 1j * imaginary) * (gain / rates)[:, None],
        _wide(mixer.C),
        _wide(mixer.D),
    )


def _kind(norm: LayerNorm | BatchNorm) -> str:
    return "batch" if isinstance(norm, BatchNorm) else "layer"


def _norm(kind: str, norm: Any) -> NormPlan:
    scale, shift = _wide(norm.weight), _wide(norm.bias)
    if kind == "batch":
        scale = scale / np.sqrt(_wide(norm.running.variance) + EPSILON)
        shift = shift - scale * _wide(norm.running.mean)
    return NormPlan(kind, scale, shift)


def _encoder(encoder: Any) -> DensePlan:
    if isinstance(encoder, eqx.nn.Linear):
        return _dense(encoder)
    weight = _wide(encoder.weight).T
    has_bias = isinstance(encoder, OneHotLinear)
    return DensePlan(weight, _wide(encoder.bias) if has_bias else np.zeros(len(weight)))


def _dense(linear: eqx.nn.Linear) -> DensePlan:
    weight = _wide(linear.weight)
    return DensePlan(weight, np.zeros(len(weight)) if linear.bias is None else _wide(linear.bias))


def _wide(x: Any) -> Float[np.ndarray, "..."]:
    return np.asarray(x, np.float64)
