"""A two-level scan: over the 16 steps of all chunks in parallel, then sequentially over chunks.

Arrays are viewed as (chunk, position in the chunk, width), without a transposition. The recurrence
is vectorized over all chunks at one position, a strided slice with contiguous rows. The passes read
the inputs twice and write the states once.

`scan` computes x_k = g_k x_{k−1} + b_k. `average` computes x_k = g_k x_{k−1} + (1 − g_k) v_k for
complex modes and varying elapsed times. Layers call `states`, which selects one of the two.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float

from .discretize import bilinear_slope, finite, gate_and_complement
from .implicit import apply_gates, differentiable, linear, previous
from .parts import Parts, add, complex_to_real, join, multiply, split, subtract

CHUNK = 16


def _scan_step(gate: Parts, x: Parts | None, b: Parts) -> Parts:
    return b if x is None else add(multiply(gate, x), b)


def _average_step(gate: Parts, x: Parts | None, v: Parts) -> Parts:
    # Not v + g (x − v): where g = 1 the state must not change, not even by rounding.
    added = multiply((1 - gate[0], -gate[1]), v)
    return added if x is None else add(multiply(gate, x), added)


def _solve(
    step: Callable[[Parts, Parts | None, Parts], Parts],
    reverse: bool,
    gates: Parts,
    inputs: Float[Array, "time width"],
    h0: Float[Array, " width"],
) -> Float[Array, "time width"]:
    """All states. `step(gate, x, input)` computes the next state; x = None means zero."""
    length, width = inputs.shape
    varying = gates[0].ndim == 2
    positions = range(CHUNK - 1, -1, -1) if reverse else range(CHUNK)
    chunks = _chunked(reverse, inputs)
    b = {j: split(len(gates), chunks[:, j]) for j in positions}
    planes = tuple(_chunked(reverse, g) for g in gates) if varying else None
    g = {j: gates if planes is None else tuple(p[:, j] for p in planes) for j in positions}

    # Pass 1: the final state of each chunk from a zero state, and the product of its gates.
    final = None
    for j in positions:
        final = step(g[j], final, b[j])
    product = functools.reduce(multiply, (g[j] for j in positions)) if varying else None

    # Pass 2: the initial state of each chunk.
    def next_chunk(x, chunk):
        final, product = chunk
        decayed = x
        if product is None:
            # Repeated products: the rounding error of g^16 would accumulate over the chunks.
            for _ in range(CHUNK):
                decayed = multiply(gates, decayed)
        else:
            decayed = multiply(product, decayed)
        return add(decayed, final), x

    initial = lax.scan(next_chunk, split(len(gates), h0), (final, product), reverse=reverse)[1]

    # Pass 3: the states within each chunk.
    states, x = {}, initial
    for j in positions:
        x = states[j] = step(g[j], x, b[j])
    # A single concatenation of all parts of all positions, to copy the states only once.
    x = jnp.concatenate([p for j in range(CHUNK) for p in states[j]], axis=-1).reshape(-1, width)
    return x[len(x) - length :] if reverse else x[:length]


def _chunked(reverse: bool, x: Array) -> Array:
    """Reshape to (chunk, position, width), zero-padded after the last step of the scan."""
    padding = -len(x) % CHUNK
    if padding:
        x = jnp.pad(x, ((padding, 0) if reverse else (0, padding), (0, 0)))
    return x.reshape(-1, CHUNK, x.shape[1])


# scan(reverse, gates, inputs, h0); the parts of constant gates have shape (width,).
scan = differentiable(functools.partial(_solve, _scan_step))


def states(
    reverse: bool,
    method: str,
    modes: tuple[Parts, Complex[Array, "modes width"]],
    elapsed: Float[Array, "*time"],
    signal: Float[Array, "time width"],
    start: Complex[Array, " modes"],
) -> Float[Array, "time 2*modes"]:
    """States of the modes after each step; real and imaginary parts concatenated.

    **Arguments:**

    - `method`: the discretization.
    - `modes`: λ per unit of time (decay and rotation) and the steady-state response B/λ.
    - `elapsed`: elapsed time per step, or a scalar if it is constant.
    - `signal`: the input of the layer.
    - `start`: state before the first step.
    """
    w, B = modes
    h0 = complex_to_real(start)
    if elapsed.ndim:
        return average(reverse, method, w, elapsed, signal @ complex_to_real(B, axis=0).T, h0)
    # Constant gates: 1 − g is multiplied into B, which saves a product per step.
    gate, complement = gate_and_complement(method, w, elapsed)
    folded = lax.complex(*complement)[:, None] * B
    return scan(reverse, gate, signal @ complex_to_real(folded, axis=0).T, h0)


def average(
    reverse: bool,
    method: str,
    w: Parts,
    elapsed: Float[Array, " time"],
    v: Float[Array, "time width"],
    h0: Float[Array, " width"],
) -> Float[Array, "time width"]:
    """All states of x_k = g_k x_{k−1} + (1 − g_k) v_k.

    **Arguments:**

    - `method`: the discretization.
    - `w`: λ per unit of time: decay and rotation of each mode.
    - `elapsed`: elapsed time per step. An infinite time gives g = 0.
    - `v`: steady-state response to the input of each step.
    - `h0`: state before the first step.
    """
    # As a loop the gates are computed once; otherwise XLA recomputes them per sequence of a batch.
    batch_size = 256  # steps; their temporaries fit into the cache of a core
    gates = lax.map(lambda t: gate_and_complement(method, w, t)[0], elapsed, batch_size=batch_size)
    return _average(reverse, method, w, elapsed, gates, v, h0)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _average(reverse, method, w, elapsed, gates, v, h0):
    """`average` for precomputed gates. Their tangent follows from those of w and `elapsed`."""
    return _solve(_average_step, reverse, gates, v, h0)


@_average.defjvp
def _(reverse, method, primals, tangents):
    w, elapsed, gates, v, h0 = primals
    dw, delapsed, _, dv, dh0 = tangents
    x = _average(reverse, method, *primals)
    # ∂x_k/∂(λδ) = −dg/d(λδ) (v_k − x_{k−1}), which is v_k − x_k for zero-order hold: no shift in
    # time. λ and δ are differentiated separately, so that sums over time reduce to products.
    if method == "zoh":
        difference = split(2, v - x)
    else:
        difference = multiply(bilinear_slope(w, elapsed), split(2, v - previous(reverse, x, h0)))
    time = finite(elapsed)[:, None]
    from_gates = add(
        multiply(dw, tuple(time * p for p in difference)),
        tuple(delapsed[:, None] * p for p in multiply(w, difference)),
    )
    right = join(add(subtract(split(2, dv), multiply(gates, split(2, dv))), from_gates))
    first = -1 if reverse else 0
    from_start = apply_gates(tuple(g[first] for g in gates), dh0)
    return x, linear(scan, reverse, gates, right.at[first].add(from_start))
