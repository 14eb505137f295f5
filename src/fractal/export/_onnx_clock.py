"""The time of samples as operators of ONNX: durations, elapsed times, gates.

All tensors have a last axis of clocks, or of modes.
"""

import numpy as np

from ._mixer_plan import Dynamics, MixerPlan, RatePlan
from ._onnx_graph import OnnxGraph
from ._onnx_layers import OnnxPair


def rated_durations(g: OnnxGraph, rate: RatePlan, u: str, before: str, dt: str) -> str:
    """The time that samples take on each clock of a layer.

    **Arguments:**

    - `before`: the sample before each, for a path.
    - `dt`: durations of the samples, for selective rates; "" if all are 1.
    """
    if rate.bias is None:
        change = g.op("Sub", u, before, name="change")
        squares = g.op("Mul", change, change, name="squares")
        total = g.op("MatMul", squares, g.constant("path_weight", rate.weight.T**2))
        return g.op("Sqrt", total, name="durations")
    projected = g.op("MatMul", u, g.constant("rate_weight", rate.weight.T))
    projected = g.op("Add", projected, g.constant("rate_bias", rate.bias))
    # softplus(x) = max(x, 0) + log1p(exp(−|x|)); operator Softplus rounds small rates to zero.
    small = g.op("Exp", g.op("Neg", g.op("Abs", projected)))
    rates = g.op("Add", g.op("Relu", projected), _log1p(g, small), name="rates")
    return g.op("Mul", rates, dt, name="durations") if dt else rates


def log_growth(g: OnnxGraph, starts: str, durations: str) -> str:
    """Elapsed time of the scale-invariant clock, log1p(duration / start).

    It is infinite for the first sample.
    """
    zero, one = g.constant("zero", 0.0), g.constant("one", 1.0)
    begun = g.op("Greater", starts, zero, name="begun")
    ratio = g.op("Div", durations, g.op("Where", begun, starts, one))
    first = g.op("Where", g.op("Greater", durations, zero), g.constant("infinity", np.inf), zero)
    ratio = g.op("Where", begun, ratio, first, name="ratio")
    infinite = g.op("IsInf", ratio)
    finite = _log1p(g, g.op("Where", infinite, zero, ratio))
    return g.op("Where", infinite, ratio, finite, name="elapsed")


def complements(g: OnnxGraph, dynamics: Dynamics, mixer: MixerPlan, elapsed: str) -> OnnxPair:
    """1 − gate of each mode, without cancellation for short steps; 1 if the time is infinite."""
    if dynamics.clocks > 1:
        clock_of_mode = np.repeat(np.arange(dynamics.clocks), dynamics.clock_modes)
        index = g.constant("clock_of_mode", clock_of_mode, np.int64)
        elapsed = g.op("Gather", elapsed, index, axis=-1, name="elapsed_by_mode")
    if dynamics.rate == "fixed" and not dynamics.scale_invariant:
        return _finite_complements(g, dynamics.discretization, mixer, elapsed)
    zero, one = g.constant("zero", 0.0), g.constant("one", 1.0)
    infinite = g.op("IsInf", elapsed, name="infinite")
    elapsed = g.op("Where", infinite, zero, elapsed)
    c = _finite_complements(g, dynamics.discretization, mixer, elapsed)
    return OnnxPair(g.op("Where", infinite, one, c.real), g.op("Where", infinite, zero, c.imag))


def _finite_complements(g: OnnxGraph, kind: str, mixer: MixerPlan, elapsed: str) -> OnnxPair:
    decay = g.op("Mul", elapsed, g.constant("rate", np.real(mixer.rates)), name="decay")
    phase = g.op("Mul", elapsed, g.constant("rotation", np.imag(mixer.rates)), name="phase")
    one, half = g.constant("one", 1.0), g.constant("half", 0.5)
    if kind == "bilinear":
        a = g.op("Add", g.op("Mul", decay, half), one)
        b = g.op("Mul", phase, half)
        size = g.op("Add", g.op("Mul", a, a), g.op("Mul", b, b), name="size")
        top = g.op("Add", g.op("Mul", decay, a), g.op("Mul", phase, b))
        return OnnxPair(g.op("Div", top, size), g.op("Div", phase, size))
    modulus = g.op("Exp", g.op("Neg", decay), name="modulus")
    # ONNX has no expm1: 1 − exp(−d) = tanh(d/2) (1 + exp(−d)).
    shrunk = g.op("Mul", g.op("Tanh", g.op("Mul", decay, half)), g.op("Add", modulus, one))
    sine = g.op("Sin", g.op("Mul", phase, half))
    turned = g.op("Mul", g.op("Mul", sine, sine), g.constant("two", 2.0))
    return OnnxPair(
        g.op("Add", g.op("Mul", shrunk, g.op("Cos", phase)), turned, name="complement_real"),
        g.op("Mul", modulus, g.op("Sin", phase), name="complement_imag"),
    )


def _log1p(g: OnnxGraph, x: str) -> str:
    """ONNX has no log1p: it is log(1 + x) · x / ((1 + x) − 1), with the rounded 1 + x."""
    zero, one = g.constant("zero", 0.0), g.constant("one", 1.0)
    grown = g.op("Add", x, one)
    rounded = g.op("Sub", grown, one)
    tiny = g.op("Equal", rounded, zero)
    factor = g.op("Div", x, g.op("Where", tiny, one, rounded))
    return g.op("Where", tiny, x, g.op("Mul", g.op("Log", grown), factor), name="log1p")
