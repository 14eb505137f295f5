"""The layers of a model as operators of ONNX. All of them act on the last axis."""

import math
from typing import NamedTuple

import numpy as np

from ._onnx_graph import OnnxGraph
from ._plan import EPSILON, BlockPlan, DensePlan, MixerPlan, NormPlan


class OnnxPair(NamedTuple):
    """Names of the real and imaginary parts of a tensor."""

    real: str
    imag: str


def dense(g: OnnxGraph, plan: DensePlan, x: str) -> str:
    """W x + b."""
    product = g.op("MatMul", x, g.constant("weight", plan.weight.T))
    return g.op("Add", product, g.constant("bias", plan.bias))


def norm(g: OnnxGraph, plan: NormPlan, x: str) -> str:
    """Layer norm, or the scale and shift of a batch norm."""
    scale, shift = g.constant("scale", plan.scale), g.constant("shift", plan.shift)
    if plan.kind == "layer":
        return g.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=EPSILON, name="norm")
    return g.op("Add", g.op("Mul", x, scale), shift, name="norm")


def gate(g: OnnxGraph, kind: str, plan: BlockPlan, y: str, z: str) -> str:
    """The gated output of a block, from the mixer's output and the normalized input."""
    if kind == "silu":
        assert plan.outer is not None
        inner = dense(g.within("inner"), plan.inner, z)
        silu = g.op("Mul", inner, g.op("Sigmoid", inner), name="silu")
        return g.op("Mul", dense(g.within("outer"), plan.outer, y), silu, name="gated")
    active = gelu(g.within("gelu"), y)
    sigmoid = g.op("Sigmoid", dense(g.within("inner"), plan.inner, active))
    if plan.outer is not None:
        return g.op("Mul", dense(g.within("outer"), plan.outer, active), sigmoid, name="gated")
    return g.op("Mul", active if kind == "half_glu1" else y, sigmoid, name="gated")


def gelu(g: OnnxGraph, x: str) -> str:
    """The tanh approximation; operator Gelu exists from opset 20 on."""
    cubed = g.op("Mul", g.op("Mul", x, x), x, name="cubed")
    inner = g.op("Add", x, g.op("Mul", cubed, g.constant("cubic", 0.044715)))
    inner = g.op("Mul", inner, g.constant("slope", math.sqrt(2 / math.pi)))
    grown = g.op("Add", g.op("Tanh", inner), g.constant("one", 1.0))
    return g.op("Mul", g.op("Mul", x, g.constant("half", 0.5)), grown)


def response(g: OnnxGraph, plan: MixerPlan, u: str) -> OnnxPair:
    """The steady states of the modes for an input."""
    return OnnxPair(
        g.op(
            "MatMul", u, g.constant("response_real", np.real(plan.response).T), name="steady_real"
        ),
        g.op(
            "MatMul", u, g.constant("response_imag", np.imag(plan.response).T), name="steady_imag"
        ),
    )


def readout(g: OnnxGraph, plan: MixerPlan, modes: str, u: str) -> str:
    """C z + D u."""
    y = g.op("MatMul", modes, g.constant("readout", plan.readout.T))
    return g.op("Add", y, g.op("Mul", u, g.constant("skip", plan.skip)), name="mixed")


def complements(g: OnnxGraph, kind: str, plan: MixerPlan, elapsed: str) -> OnnxPair:
    """1 − gate of each mode, without cancellation for short steps. `elapsed` ends in an axis of 1.

    ONNX has no expm1: 1 − exp(−d) = tanh(d/2) (1 + exp(−d)).
    """
    decay = g.op("Mul", elapsed, g.constant("rate", np.real(plan.rates)), name="decay")
    phase = g.op("Mul", elapsed, g.constant("rotation", np.imag(plan.rates)), name="phase")
    one, half = g.constant("one", 1.0), g.constant("half", 0.5)
    if kind == "bilinear":
        a = g.op("Add", g.op("Mul", decay, half), one)
        b = g.op("Mul", phase, half)
        size = g.op("Add", g.op("Mul", a, a), g.op("Mul", b, b), name="size")
        top = g.op("Add", g.op("Mul", decay, a), g.op("Mul", phase, b))
        return OnnxPair(g.op("Div", top, size), g.op("Div", phase, size))
    modulus = g.op("Exp", g.op("Neg", decay), name="modulus")
    shrunk = g.op("Mul", g.op("Tanh", g.op("Mul", decay, half)), g.op("Add", modulus, one))
    sine = g.op("Sin", g.op("Mul", phase, half))
    turned = g.op("Mul", g.op("Mul", sine, sine), g.constant("two", 2.0))
    return OnnxPair(
        g.op("Add", g.op("Mul", shrunk, g.op("Cos", phase)), turned, name="complement_real"),
        g.op("Mul", modulus, g.op("Sin", phase), name="complement_imag"),
    )


def scale_invariant_complements(
    g: OnnxGraph, kind: str, plan: MixerPlan, starts: str, durations: str
) -> OnnxPair:
    """1 − gate for elapsed times log1p(duration / start); 1 for the first sample.

    ONNX has no log1p: log1p(x) = x log(1 + x) / ((1 + x) − 1), with the rounded 1 + x.
    """
    zero, one = g.constant("zero", 0.0), g.constant("one", 1.0)
    begun = g.op("Greater", starts, zero, name="begun")
    ratio = g.op("Div", durations, g.op("Where", begun, starts, one), name="ratio")
    ratio = g.op("Where", begun, ratio, zero)
    grown = g.op("Add", ratio, one)
    rounded = g.op("Sub", grown, one)
    tiny = g.op("Equal", rounded, zero)
    quotient = g.op(
        "Div", g.op("Mul", ratio, g.op("Log", grown)), g.op("Where", tiny, one, rounded)
    )
    elapsed = g.op("Where", tiny, ratio, quotient, name="elapsed")
    c = complements(g, kind, plan, elapsed)
    first = g.op("And", g.op("Not", begun), g.op("Greater", durations, zero), name="first")
    return OnnxPair(g.op("Where", first, one, c.real), g.op("Where", first, zero, c.imag))


def times(g: OnnxGraph, a: OnnxPair, b: OnnxPair) -> OnnxPair:
    """The complex product."""
    return OnnxPair(
        g.op("Sub", g.op("Mul", a.real, b.real), g.op("Mul", a.imag, b.imag), name="real"),
        g.op("Add", g.op("Mul", a.real, b.imag), g.op("Mul", a.imag, b.real), name="imag"),
    )


def plus(g: OnnxGraph, a: OnnxPair, b: OnnxPair) -> OnnxPair:
    """The complex sum."""
    return OnnxPair(g.op("Add", a.real, b.real), g.op("Add", a.imag, b.imag))


def pair_constant(g: OnnxGraph, name: str, value: np.ndarray) -> OnnxPair:
    """A constant of complex numbers."""
    return OnnxPair(
        g.constant(f"{name}_real", np.real(value)), g.constant(f"{name}_imag", np.imag(value))
    )
