"""The graph of one step: a sample and a state in, an output and the next state out.

The state has a leading axis for the batch and is zero before the first step. Sums are kept in three
words as in JAX: the sum, and what rounding removed from it.
"""

from typing import NamedTuple

import numpy as np

from . import _onnx_clock as clock
from . import _onnx_layers as layers
from ._onnx_graph import OnnxGraph
from ._onnx_layers import OnnxPair
from ._plan import BlockPlan, Plan
from ._positions import sinusoid_turns


class _MixerState(NamedTuple):
    """Tensors of the state of a mixer, or of all mixers in an axis of depth; "" if there is none.

    Durations that mixers compute differ, so that each has a time of its own.
    """

    modes: str
    modes_lost: str
    mixer_time: str
    last_input: str


def step_graph(plan: Plan) -> OnnxGraph:
    """The graph of a causal model."""
    g, dynamics = OnnxGraph(), plan.dynamics
    if plan.tokens:
        x = g.input("token", ["batch"], np.int64)
    else:
        x = g.input("x", ["batch", plan.inputs])
    dt = _unsqueeze(g, g.input("dt", ["batch"])) if dynamics.rate != "path" else ""
    shapes = _mixer_shapes(plan)
    before = _MixerState(
        *(g.input(name, shapes[name]) if name in shapes else "" for name in _MixerState._fields)
    )
    shared = dynamics.scale_invariant and dynamics.rate == "fixed"
    time = g.input("time", ["batch", 3]) if shared else ""
    counted = plan.pooling == "mean" or plan.positions != "none"
    steps = g.input("steps", ["batch"], np.int64) if counted else ""
    total = g.input("total", ["batch", 3, plan.width]) if plan.pooling == "mean" else ""

    h = encode(g.within("encoder"), plan, x)
    if plan.positions != "none":
        h = g.op("Add", h, _positions(g.within("positions"), plan, steps), name="positioned")
    elapsed = dt
    if shared:
        scope = g.within("clock")
        words = [_word(scope, time, i, keep=True) for i in range(3)]
        elapsed = clock.log_growth(scope, words[0], dt)
        time = scope.op("Concat", *accumulate(scope, words, dt), axis=1)
    states = []
    for k, block in enumerate(plan.blocks):
        scope = g.within(f"block{k}")
        state = _MixerState(*(_word(scope, x, k) if x else "" for x in before))
        h, state = _block(scope, plan, block, h, state, dt, elapsed)
        states.append(state)
    if plan.final_norm is not None:
        h = layers.norm(g.within("final_norm"), plan.final_norm, h)
    if steps:
        steps = g.op("Add", steps, g.constant("one", 1, np.int64), name="counted")
    if total:
        scope = g.within("mean")
        words = accumulate(scope, [_word(scope, total, i) for i in range(3)], h)
        count = scope.op("Cast", steps, to=1)
        h = scope.op("Div", words[0], _unsqueeze(scope, count), name="mean")
        total = _stack(scope, words)

    g.output("output", layers.dense(g.within("head"), plan.head, h), ["batch", plan.outputs])
    for name, shape in shapes.items():
        g.output(f"next_{name}", _stack(g, [getattr(state, name) for state in states]), shape)
    if time:
        g.output("next_time", time, ["batch", 3])
    if steps:
        g.output("next_steps", steps, ["batch"], np.int64)
    if total:
        g.output("next_total", total, ["batch", 3, plan.width])
    return g


def _mixer_shapes(plan: Plan) -> dict[str, list[int | str]]:
    """Shapes of the states of all mixers."""
    dynamics, depth = plan.dynamics, len(plan.blocks)
    shapes: dict[str, list[int | str]] = {"modes": ["batch", depth, 2 * dynamics.modes]}
    if dynamics.scale_invariant:
        shapes["modes_lost"] = ["batch", depth, 2, 2 * dynamics.modes]
        if dynamics.rate != "fixed":
            shapes["mixer_time"] = ["batch", depth, 3, dynamics.clocks]
    if dynamics.rate == "path":
        shapes["last_input"] = ["batch", depth, plan.width]
    return shapes


def encode(g: OnnxGraph, plan: Plan, x: str) -> str:
    """Features of tokens or values."""
    if not plan.tokens:
        return layers.dense(g, plan.encoder, x)
    rows = g.op("Gather", g.constant("weight", plan.encoder.weight.T), x, axis=0)
    return g.op("Add", rows, g.constant("bias", plan.encoder.bias))


def accumulate(g: OnnxGraph, words: list[str], term: str) -> list[str]:
    """A sum of three words after one more term; each addition passes its error on."""
    carry, smallest = _two_sum(g, term, words[2])
    carry, middle = _two_sum(g, carry, words[1])
    total, largest = _two_sum(g, carry, words[0])
    return [total, largest, g.op("Add", middle, smallest, name="lost")]


def _two_sum(g: OnnxGraph, a: str, b: str) -> tuple[str, str]:
    """The rounded sum, and its rounding error."""
    total = g.op("Add", a, b, name="sum")
    rounded = g.op("Sub", total, a)
    error_a = g.op("Sub", a, g.op("Sub", total, rounded))
    error_b = g.op("Sub", b, rounded)
    return total, g.op("Add", error_a, error_b, name="error")


def _block(
    g: OnnxGraph,
    plan: Plan,
    block: BlockPlan,
    h: str,
    before: _MixerState,
    dt: str,
    elapsed: str,
) -> tuple[str, _MixerState]:
    """The output of a block, and the next state of its mixer; `elapsed` is that of a fixed rate."""
    z = layers.norm(g.within("norm"), block.norm, h)
    m, mixer, time = g.within("mixer"), block.mixer, ""
    if mixer.rate is not None:
        elapsed = clock.rated_durations(m, mixer.rate, z, before.last_input, dt)
        if before.mixer_time:
            words = [_word(m, before.mixer_time, i) for i in range(3)]
            time = _stack(m, accumulate(m, words, elapsed))
            elapsed = clock.log_growth(m, words[0], elapsed)
    c = clock.complements(m, plan.dynamics, mixer, elapsed)
    steady = layers.response(m, mixer, z)
    sizes = m.constant("sizes", [plan.dynamics.modes] * 2, np.int64)
    old = OnnxPair(*m.ops("Split", before.modes, sizes, names=["old_real", "old_imag"], axis=1))
    gap = OnnxPair(m.op("Sub", steady.real, old.real), m.op("Sub", steady.imag, old.imag))
    change = m.op("Concat", *layers.times(m, c, gap), axis=1, name="change")
    lost = ""
    if before.modes_lost:
        words = [before.modes, *(_word(m, before.modes_lost, i) for i in range(2))]
        modes, *rest = accumulate(m, words, change)
        lost = _stack(m, rest)
    else:
        modes = m.op("Add", before.modes, change, name="modes")
    y = layers.readout(m, mixer, modes, z)
    gated = layers.gate(g.within("gate"), plan.gate, block, y, z)
    return g.op("Add", h, gated, name="output"), _MixerState(modes, lost, time, z)


def _positions(g: OnnxGraph, plan: Plan, steps: str) -> str:
    """Position embeddings of the step numbers."""
    if plan.table is not None:
        row = g.op("Min", steps, g.constant("last", len(plan.table) - 1, np.int64))
        return g.op("Gather", g.constant("table", plan.table), row, axis=0)
    # Angles in turns of 2⁶⁴, as integers that wrap around.
    turns = np.array(sinusoid_turns(plan.width), np.uint64).astype(np.int64)
    quarter = (np.arange(plan.width) % 2) << np.int64(62)  # cos x = sin(x + ¼ turn)
    angles = g.op("Mul", _unsqueeze(g, steps), g.constant("turns", turns, np.int64))
    angles = g.op("Add", angles, g.constant("quarter", quarter, np.int64))
    radians = g.op("Mul", g.op("Cast", angles, to=1), g.constant("unit", 2 * np.pi / 2**64))
    return g.op("Sin", radians)


def _word(g: OnnxGraph, x: str, index: int, keep: bool = False) -> str:
    """One entry along axis 1; with `keep`, the axis stays."""
    return g.op("Gather", x, g.constant("index", [index] if keep else index, np.int64), axis=1)


def _unsqueeze(g: OnnxGraph, x: str) -> str:
    return g.op("Unsqueeze", x, g.constant("axis", [1], np.int64))


def _stack(g: OnnxGraph, tensors: list[str]) -> str:
    """Tensors in a new axis after that of the batch."""
    return g.op("Concat", *(_unsqueeze(g, one) for one in tensors), axis=1)
