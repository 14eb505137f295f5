"""The graph of one step: a sample and a state in, an output and the next state out.

The state has a leading axis for the batch and is zero before the first step. Sums are kept in three
words as in JAX: the sum, and what rounding removed from it.
"""

import numpy as np

from . import _onnx_layers as layers
from ._onnx_graph import OnnxGraph
from ._onnx_layers import OnnxPair
from ._plan import BlockPlan, Plan
from ._positions import sinusoid_turns


def step_graph(plan: Plan) -> OnnxGraph:
    """The graph of a causal model."""
    g = OnnxGraph()
    width, parts, depth = plan.width, 2 * plan.choices.modes, len(plan.blocks)
    if plan.tokens:
        x = g.input("token", ["batch"], np.int64)
    else:
        x = g.input("x", ["batch", plan.inputs])
    dt = g.op("Unsqueeze", g.input("dt", ["batch"]), g.constant("axis", [1], np.int64))
    modes = g.input("modes", ["batch", depth, parts])
    lost = g.input("modes_lost", ["batch", depth, 2, parts]) if plan.scale_invariant else ""
    time = g.input("time", ["batch", 3]) if plan.scale_invariant else ""
    counted = plan.pooling == "mean" or plan.positions != "none"
    steps = g.input("steps", ["batch"], np.int64) if counted else ""
    total = g.input("total", ["batch", 3, width]) if plan.pooling == "mean" else ""

    h = encode(g.within("encoder"), plan, x)
    if plan.positions != "none":
        h = g.op("Add", h, _positions(g.within("positions"), plan, steps), name="positioned")
    start = _word(g.within("clock"), time, 0, keep=True) if time else ""
    after_modes, after_lost = [], []
    for k, block in enumerate(plan.blocks):
        scope = g.within(f"block{k}")
        before = _word(scope, modes, k)
        error = _word(scope, lost, k) if lost else ""
        h, z, error = _block(scope, plan, block, h, (before, error), dt, start)
        after_modes.append(_unsqueeze(scope, z))
        after_lost.append(_unsqueeze(scope, error) if lost else "")
    if plan.final_norm is not None:
        h = layers.norm(g.within("final_norm"), plan.final_norm, h)

    next_total = ""
    if steps:
        steps = g.op("Add", steps, g.constant("one", 1, np.int64), name="counted")
    if total:
        scope = g.within("mean")
        words = [_word(scope, total, i) for i in range(3)]
        words = accumulate(scope, words, h)
        count = scope.op("Cast", steps, to=1)
        h = scope.op("Div", words[0], _unsqueeze(scope, count), name="mean")
        next_total = scope.op("Concat", *(_unsqueeze(scope, one) for one in words), axis=1)
    output = layers.dense(g.within("head"), plan.head, h)

    g.output("output", output, ["batch", plan.outputs])
    g.output("next_modes", g.op("Concat", *after_modes, axis=1), ["batch", depth, parts])
    if lost:
        g.output("next_modes_lost", g.op("Concat", *after_lost, axis=1),
                 ["batch", depth, 2, parts])  # fmt: skip
        clock = g.within("clock")
        words = [_word(clock, time, i, keep=True) for i in range(3)]
        words = accumulate(clock, words, dt)
        g.output("next_time", clock.op("Concat", *words, axis=1), ["batch", 3])
    if steps:
        g.output("next_steps", steps, ["batch"], np.int64)
    if next_total:
        g.output("next_total", next_total, ["batch", 3, width])
    return g


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
    before: tuple[str, str],
    dt: str,
    start: str,
) -> tuple[str, str, str]:
    """The output of a block, its modes, and what rounding removed from them."""
    z = layers.norm(g.within("norm"), block.norm, h)
    m, kind = g.within("mixer"), plan.choices.discretization
    if plan.scale_invariant:
        c = layers.scale_invariant_complements(m, kind, block.mixer, start, dt)
    else:
        c = layers.complements(m, kind, block.mixer, dt)
    steady = layers.response(m, block.mixer, z)
    sizes = m.constant("sizes", [plan.choices.modes] * 2, np.int64)
    old = OnnxPair(*m.ops("Split", before[0], sizes, names=["old_real", "old_imag"], axis=1))
    gap = OnnxPair(m.op("Sub", steady.real, old.real), m.op("Sub", steady.imag, old.imag))
    change = m.op("Concat", *layers.times(m, c, gap), axis=1, name="change")
    if plan.scale_invariant:
        words = [before[0], _word(m, before[1], 0), _word(m, before[1], 1)]
        modes, *lost = accumulate(m, words, change)
        error = m.op("Concat", *(_unsqueeze(m, one) for one in lost), axis=1)
    else:
        modes, error = m.op("Add", before[0], change, name="modes"), ""
    y = layers.readout(m, block.mixer, modes, z)
    gated = layers.gate(g.within("gate"), plan.choices.gate, block, y, z)
    return g.op("Add", h, gated, name="output"), modes, error


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
