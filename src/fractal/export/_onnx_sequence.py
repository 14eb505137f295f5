"""The graph of a whole sequence of a fixed length, without loops.

The recurrence x_k = g_k x_{k−1} + b_k is solved in log₂(length) passes. Pass j adds to each step
what its predecessor 2^j steps before it has collected, times the product of the gates between them.
"""

import numpy as np
from jaxtyping import Complex

from . import _onnx_clock as clock
from . import _onnx_layers as layers
from ._mixer_plan import Dynamics, MixerPlan, unit_complement
from ._onnx_graph import OnnxGraph
from ._onnx_layers import OnnxPair
from ._onnx_step import encode
from ._plan import BlockPlan, Plan
from ._positions import sinusoids


def sequence_graph(plan: Plan, length: int, *, durations: bool) -> OnnxGraph:
    """The graph of a model for `length` steps; later steps than `lengths` are padding."""
    g = OnnxGraph()
    pair = [2] if plan.pair is not None else []
    if plan.tokens:
        x = g.input("tokens", ["batch", *pair, length], np.int64)
    else:
        x = g.input("x", ["batch", *pair, length, plan.inputs])
    lengths = g.input("lengths", ["batch", *pair], np.int64)
    dt = g.input("dt", ["batch", *pair, length]) if durations else ""
    if pair:  # both sequences of a pair are entries of the batch
        x = _reshape(g, x, [-1, length] if plan.tokens else [-1, length, plan.inputs])
        lengths = _reshape(g, lengths, [-1])
        dt = _reshape(g, dt, [-1, length]) if dt else ""
    if dt:
        dt = _unsqueeze(g, dt, 2)

    steps = g.constant("steps", np.arange(length), np.int64)
    kept = g.op("Less", steps, _unsqueeze(g, lengths, 1), name="kept")
    kept3 = _unsqueeze(g, kept, 2)
    if plan.tokens:
        x = g.op("Where", kept, x, g.constant("padding", 0, np.int64))
    else:
        x = g.op("Where", kept3, x, g.constant("padding", 0.0))
    h = encode(g.within("encoder"), plan, x)
    if plan.positions != "none":
        table = sinusoids(length, plan.width) if plan.table is None else plan.table[:length]
        h = g.op("Add", h, g.constant("positions", table), name="positioned")
    mask = kept3 if plan.masking == "all" else ""
    for k, block in enumerate(plan.blocks):
        h = _block(g.within(f"block{k}"), plan, block, h, mask, dt, length)
    if plan.final_norm is not None:
        h = layers.norm(g.within("final_norm"), plan.final_norm, h)

    if plan.pooling == "none":
        g.output("output", layers.dense(g.within("head"), plan.head, h),
                 ["batch", length, plan.outputs])  # fmt: skip
        return g
    h = _pool(g.within("pooling"), plan.pooling, h, kept3, lengths)
    if plan.pair is not None:
        scope = g.within("pair")
        both = _reshape(scope, h, [-1, 2, plan.width])
        one, two = (
            scope.op("Gather", both, scope.constant("index", i, np.int64), axis=1) for i in (0, 1)
        )
        features = (one, two, scope.op("Sub", one, two), scope.op("Mul", one, two))
        hidden = layers.dense(scope, plan.pair, scope.op("Concat", *features, axis=1))
        h = layers.gelu(scope.within("gelu"), hidden)
    g.output("output", layers.dense(g.within("head"), plan.head, h), ["batch", plan.outputs])
    return g


def _block(
    g: OnnxGraph, plan: Plan, block: BlockPlan, h: str, mask: str, dt: str, length: int
) -> str:
    z = layers.norm(g.within("norm"), block.norm, h)
    m = g.within("mixer")
    u = m.op("Where", mask, z, m.constant("zero", 0.0), name="signal") if mask else z
    steady = layers.response(m, block.mixer, u)
    directions = ("forward", "backward") if plan.dynamics.bidirectional else ("forward",)
    dynamics, scans = plan.dynamics, []
    for direction in directions:
        scope, reverse = m.within(direction), direction == "backward"
        if dynamics.scale_invariant or dynamics.rate != "fixed" or dt:
            durations = _durations(scope, block.mixer, u, dt, length, reverse)
            c = _complements(scope, dynamics, block.mixer, durations, mask, reverse)
            scans.append(_varying_scan(scope, c, steady, length, reverse))
        else:
            c = unit_complement(dynamics.discretization, block.mixer.rates)
            scans.append(_constant_scan(scope, c, steady, length, reverse))
    modes = m.op("Concat", *(part for scan in scans for part in scan), axis=2, name="modes")
    y = layers.readout(m, block.mixer, modes, u)
    gated = layers.gate(g.within("gate"), plan.gate, block, y, z)
    return g.op("Add", h, gated, name="output")


def _constant_scan(
    g: OnnxGraph, c: Complex[np.ndarray, " modes"], steady: OnnxPair, length: int, reverse: bool
) -> OnnxPair:
    """The modes of all steps, for the same complement of the gates at all steps."""
    x = layers.times(g, layers.pair_constant(g, "complement", c), steady)
    for j in range((length - 1).bit_length()):
        scope = g.within(f"pass{j}")
        decay = layers.pair_constant(scope, "gate", (1 - c) ** 2**j)
        x = layers.plus(scope, x, layers.times(scope, decay, _shift(scope, x, 2**j, reverse)))
    return x


def _varying_scan(
    g: OnnxGraph, c: OnnxPair, steady: OnnxPair, length: int, reverse: bool
) -> OnnxPair:
    """The modes of all steps, for a complement of the gates per step."""
    x, one = layers.times(g, c, steady), g.constant("one", 1.0)
    decay = OnnxPair(g.op("Sub", one, c.real, name="gate_real"), g.op("Neg", c.imag))
    passes = (length - 1).bit_length()
    for j in range(passes):
        scope = g.within(f"pass{j}")
        x = layers.plus(scope, x, layers.times(scope, decay, _shift(scope, x, 2**j, reverse)))
        if j < passes - 1:
            before = _shift(scope, decay, 2**j, reverse, neutral=1.0)
            decay = layers.times(scope, decay, before)
    return x


def _durations(g: OnnxGraph, mixer: MixerPlan, u: str, dt: str, length: int, reverse: bool) -> str:
    """The time that each sample takes on each clock."""
    if mixer.rate is None:
        return dt or g.constant("durations", np.ones((1, length, 1)))
    path = mixer.rate.bias is None
    return clock.rated_durations(g, mixer.rate, u, _shifted(g, u, 1, reverse) if path else "", dt)


def _complements(
    g: OnnxGraph, dynamics: Dynamics, mixer: MixerPlan, durations: str, mask: str, reverse: bool
) -> OnnxPair:
    """1 − gate of each step and mode."""
    if not dynamics.scale_invariant:
        return clock.complements(g, dynamics, mixer, durations)
    if reverse and mask:  # the reverse clock starts at the last step that is not padding
        durations = g.op("Where", mask, durations, g.constant("zero", 0.0))
    starts = g.op("CumSum", durations, g.constant("axis", 1, np.int64), exclusive=1,
                  reverse=int(reverse), name="starts")  # fmt: skip
    return clock.complements(g, dynamics, mixer, clock.log_growth(g, starts, durations))


def _shift(g: OnnxGraph, x: OnnxPair, steps: int, reverse: bool, neutral: float = 0.0) -> OnnxPair:
    """The values `steps` earlier, or later if `reverse`; `neutral` where there are none."""
    return OnnxPair(
        _shifted(g, x.real, steps, reverse, neutral), _shifted(g, x.imag, steps, reverse)
    )


def _shifted(g: OnnxGraph, x: str, steps: int, reverse: bool, neutral: float = 0.0) -> str:
    by = -steps if reverse else steps
    pads = g.constant("shift", [0, by, 0, 0, -by, 0], np.int64)  # negative: removed
    return g.op("Pad", x, pads, g.constant("neutral", neutral), name="shifted")


def _pool(g: OnnxGraph, pooling: str, h: str, kept: str, lengths: str) -> str:
    count = g.op("Max", lengths, g.constant("one", 1, np.int64), name="count")
    if pooling == "last":
        last = g.op("Sub", count, g.constant("one", 1, np.int64))
        return g.op("GatherND", h, _unsqueeze(g, last, 1), batch_dims=1, name="last")
    real = g.op("Where", kept, h, g.constant("zero", 0.0))
    total = g.op("ReduceSum", real, g.constant("axis", [1], np.int64), keepdims=0, name="sum")
    return g.op("Div", total, _unsqueeze(g, g.op("Cast", count, to=1), 1), name="mean")


def _reshape(g: OnnxGraph, x: str, shape: list[int]) -> str:
    return g.op("Reshape", x, g.constant("shape", shape, np.int64))


def _unsqueeze(g: OnnxGraph, x: str, axis: int) -> str:
    return g.op("Unsqueeze", x, g.constant("axis", [axis], np.int64))
