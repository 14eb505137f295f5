"""The two-level scan: within chunks of 16 steps side by side, then from chunk to chunk.

Time stays in its order, (chunk, position in the chunk, width), so that nothing is transposed: one
position of all chunks is a strided plane of long rows, on which the recurrence runs as vector
operations. The passes read the inputs twice and write the states once.
"""

import functools

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ._implicit import differentiable
from ._parts import plus, split, times

CHUNK = 16


def _solve(
    halves: bool,
    reverse: bool,
    a: Float[Array, "..."],
    b: Float[Array, "time width"],
    h0: Float[Array, " width"],
) -> Float[Array, "time width"]:
    """All states, of real numbers or of complex ones in halves."""
    length, width = b.shape
    varying = a.ndim == 2
    chunked = functools.partial(_chunked, reverse)
    inputs = chunked(b)
    parts = functools.partial(split, halves)
    positions = range(CHUNK - 1, -1, -1) if reverse else range(CHUNK)
    planes = chunked(a) if varying else None
    gates = {j: parts(a if planes is None else planes[:, j]) for j in positions}

    # Up: what each chunk adds to the state that enters it, and the product of its gates.
    first = positions[0]
    end = parts(inputs[:, first])
    for j in positions[1:]:
        end = plus(times(gates[j], end), parts(inputs[:, j]))
    product = functools.reduce(times, (gates[j] for j in positions)) if varying else None

    # Across: from chunk to chunk, keeping the state that enters each.
    def cross(x, chunk):
        added, kept = chunk
        left = x
        if varying:
            left = times(kept, left)
        else:
            # Step by step: the rounding of a power a^16 would add up over the chunks.
            for _ in range(CHUNK):
                left = times(gates[first], left)
        return plus(left, added), x

    entering = lax.scan(cross, parts(h0), (end, product), reverse=reverse)[1]

    # Down: every state from the one before it.
    states, x = {}, entering
    for j in positions:
        x = plus(times(gates[j], x), parts(inputs[:, j]))
        states[j] = x
    # One concatenation of all parts of all positions: joined or stacked apart they are copied twice.
    x = jnp.concatenate([p for j in range(CHUNK) for p in states[j]], axis=-1).reshape(-1, width)
    return x[len(x) - length :] if reverse else x[:length]


def _chunked(reverse: bool, x: Array) -> Array:
    """Time as (chunk, position), filled up with zeros beyond the last step of the scan."""
    padding = -len(x) % CHUNK
    if padding:
        x = jnp.pad(x, ((padding, 0) if reverse else (0, padding), (0, 0)))
    return x.reshape(-1, CHUNK, x.shape[1])


# scan(reverse, gates, inputs, h0); gates (width,) where they are constant.
scan_real = differentiable(functools.partial(_solve, False))
scan_halves = differentiable(functools.partial(_solve, True), halves=True)
