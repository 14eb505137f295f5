"""The two-level scan: within chunks of 16 steps side by side, then from chunk to chunk.

Time stays in its order, (chunk, position in the chunk, width), so that nothing is transposed: one
position of all chunks is a strided plane of long rows, on which the recurrence runs as vector
operations. The passes read the inputs twice and write the states once.

`scan` runs x_k = g_k x_{k−1} + b_k. `average` runs x_k = g_k x_{k−1} + (1 − g_k) v_k for complex
modes whose steps take different times. `states` is what a layer calls: one or the other.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float

from .discretize import bilinear_slope, finite, gate_and_rest
from .implicit import differentiable, linear, multiply, previous
from .parts import Parts, join, minus, plus, split, times, to_halves

CHUNK = 16


def _plain(gate: Parts, x: Parts | None, b: Parts) -> Parts:
    return b if x is None else plus(times(gate, x), b)


def _averaging(gate: Parts, x: Parts | None, v: Parts) -> Parts:
    # Not v + g (x − v): where g = 1 the state must stay as it is, however large v.
    added = times((1 - gate[0], -gate[1]), v)
    return added if x is None else plus(times(gate, x), added)


def _solve(
    step: Callable[[Parts, Parts | None, Parts], Parts],
    reverse: bool,
    gates: Parts,
    inputs: Float[Array, "time width"],
    h0: Float[Array, " width"],
) -> Float[Array, "time width"]:
    """All states; `step(gate, x, input)` is the next state, or what the input adds if x is None."""
    length, width = inputs.shape
    varying = gates[0].ndim == 2
    positions = range(CHUNK - 1, -1, -1) if reverse else range(CHUNK)
    chunks = _chunked(reverse, inputs)
    b = {j: split(len(gates), chunks[:, j]) for j in positions}
    planes = tuple(_chunked(reverse, g) for g in gates) if varying else None
    g = {j: gates if planes is None else tuple(p[:, j] for p in planes) for j in positions}

    # Up: what each chunk adds to the state that enters it, and the product of its gates.
    added = None
    for j in positions:
        added = step(g[j], added, b[j])
    kept = functools.reduce(times, (g[j] for j in positions)) if varying else None

    # Across: from chunk to chunk, keeping the state that enters each.
    def cross(x, chunk):
        added, kept = chunk
        left = x
        if kept is None:
            # Step by step: the rounding of a power g^16 would add up over the chunks.
            for _ in range(CHUNK):
                left = times(gates, left)
        else:
            left = times(kept, left)
        return plus(left, added), x

    entering = lax.scan(cross, split(len(gates), h0), (added, kept), reverse=reverse)[1]

    # Down: every state from the one before it.
    states, x = {}, entering
    for j in positions:
        x = states[j] = step(g[j], x, b[j])
    # One concatenation of all parts of all positions: in two, everything would be copied twice.
    x = jnp.concatenate([p for j in range(CHUNK) for p in states[j]], axis=-1).reshape(-1, width)
    return x[len(x) - length :] if reverse else x[:length]


def _chunked(reverse: bool, x: Array) -> Array:
    """Time as (chunk, position), filled up with zeros beyond the last step of the scan."""
    padding = -len(x) % CHUNK
    if padding:
        x = jnp.pad(x, ((padding, 0) if reverse else (0, padding), (0, 0)))
    return x.reshape(-1, CHUNK, x.shape[1])


# scan(reverse, gates, inputs, h0); gates as parts, of shape (width,) where they are constant.
scan = differentiable(functools.partial(_solve, _plain))


def states(
    reverse: bool,
    method: str,
    modes: tuple[Parts, Complex[Array, "modes width"]],
    elapsed: Float[Array, "*time"],
    signal: Float[Array, "time width"],
    start: Complex[Array, " modes"],
) -> Float[Array, "time 2*modes"]:
    """The modes after each step, in halves.

    **Arguments:**

    - `method`: the discretization.
    - `modes`: decay and turn of each while one unit of time passes, and where its input leads it if
      it is held for ever.
    - `elapsed`: the time that passes in each step, or the one time that passes in all.
    """
    w, B = modes
    h0 = to_halves(start)
    if elapsed.ndim:
        return average(reverse, method, w, elapsed, signal @ to_halves(B, axis=0).T, h0)
    # All steps are equal: 1 − g goes into B, which spares a product in every step.
    gate, rest = gate_and_rest(method, w, elapsed)
    folded = lax.complex(*rest)[:, None] * B
    return scan(reverse, gate, signal @ to_halves(folded, axis=0).T, h0)


def average(
    reverse: bool,
    method: str,
    w: Parts,
    elapsed: Float[Array, " time"],
    v: Float[Array, "time width"],
    h0: Float[Array, " width"],
) -> Float[Array, "time width"]:
    """All states of the running average.

    **Arguments:**

    - `method`: the discretization.
    - `w`: decay and turn of each mode while one unit of time passes.
    - `elapsed`: the time that passes in each step. After an infinite time all is forgotten.
    """
    # Known to be a loop, this is computed once; else XLA computes it for each sequence of a batch.
    together = 256  # steps, whose temporaries fit into a core's cache
    gates = lax.map(lambda t: gate_and_rest(method, w, t)[0], elapsed, batch_size=together)
    return _average(reverse, method, w, elapsed, gates, v, h0)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _average(reverse, method, w, elapsed, gates, v, h0):
    """`average` with its gates at hand; their tangent is that of w and `elapsed`."""
    return _solve(_averaging, reverse, gates, v, h0)


@_average.defjvp
def _(reverse, method, primals, tangents):
    w, elapsed, gates, v, h0 = primals
    dw, delapsed, _, dv, dh0 = tangents
    x = _average(reverse, method, *primals)
    # A change of λδ moves x_k by −dg/d(λδ) (v_k − x_{k−1}). For the exponential that is v_k − x_k:
    # no shift in time. Split into what varies with time and what does not, it is summed at once.
    if method == "zoh":
        away = split(2, v - x)
    else:
        away = times(bilinear_slope(w, elapsed), split(2, v - previous(reverse, x, h0)))
    time = finite(elapsed)[:, None]
    moved = plus(
        times(dw, tuple(time * p for p in away)),
        tuple(delapsed[:, None] * p for p in times(w, away)),
    )
    right = join(plus(minus(split(2, dv), times(gates, split(2, dv))), moved))
    first = -1 if reverse else 0
    entering = multiply(tuple(g[first] for g in gates), dh0)
    return x, linear(scan, reverse, gates, right.at[first].add(entering))
