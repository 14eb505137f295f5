"""The layers of a model as operators of ONNX. All of them act on the last axis."""

import math
from typing import NamedTuple

import numpy as np

from ._mixer_plan import MixerPlan
from ._onnx_graph import OnnxGraph
from ._plan import EPSILON, BlockPlan, DensePlan, NormPlan


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
