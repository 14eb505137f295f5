"""The two-level scan: within chunks of 16 steps side by side, then from chunk to chunk.

Arrays are chunk-major, (position in the chunk, chunk, width): one position of all chunks is a
contiguous plane, on which the recurrence runs as long vector operations. Complex numbers are
real and imaginary halves side by side in `width`, so that projections in and out are plain real
matrix products. The passes read the inputs twice and write the states once.
"""

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float, Inexact

from ._implicit import Recurrence, differentiable

CHUNK = 16


def chunk_major(
    x: Float[Array, "time width"], at_start: bool = False, fill: Array | float = 0.0
) -> Float[Array, "position chunks width"]:
    """Reorder time into (position in the chunk, chunk), padded at the end or at the start."""
    padding = -x.shape[0] % CHUNK
    if padding:
        pad = jnp.broadcast_to(jnp.asarray(fill, x.dtype), (padding, x.shape[1]))
        x = jnp.concatenate([pad, x] if at_start else [x, pad])
    return x.reshape(-1, CHUNK, x.shape[1]).transpose(1, 0, 2)


def time_major(
    x: Float[Array, "position chunks width"], length: int, at_start: bool = False
) -> Float[Array, "time width"]:
    """Undo `chunk_major`, padding removed."""
    flat = x.transpose(1, 0, 2).reshape(-1, x.shape[2])
    return flat[flat.shape[0] - length :] if at_start else flat[:length]


def to_halves(x: Complex[Array, "*shape"]) -> Float[Array, "..."]:
    """Real and imaginary parts side by side in the last axis."""
    return jnp.concatenate([x.real, x.imag], axis=-1)


def from_halves(x: Float[Array, "..."]) -> Complex[Array, "..."]:
    """Undo `to_halves`."""
    return lax.complex(*jnp.split(x, 2, axis=-1))


def _conjugate_halves(a: Array) -> Array:
    real, imaginary = jnp.split(a, 2, axis=-1)
    return jnp.concatenate([real, -imaginary], axis=-1)


Parts = tuple[Array, ...]  # (x,) of real numbers, (real, imaginary) of complex ones


def _times(a: Parts, x: Parts) -> Parts:
    if len(a) == 1:
        return (a[0] * x[0],)
    return a[0] * x[0] - a[1] * x[1], a[0] * x[1] + a[1] * x[0]


def _parts(count: int, x: Array) -> Parts:
    return tuple(jnp.split(x, count, axis=-1))


def _multiply(count: int, a: Array, x: Array) -> Array:
    return jnp.concatenate(_times(_parts(count, a), _parts(count, x)), axis=-1)


def _plus(x: Parts, y: Parts) -> Parts:
    return tuple(p + q for p, q in zip(x, y, strict=True))


def _solve(
    count: int,
    reverse: bool,
    a: Inexact[Array, "..."],
    b: Inexact[Array, "position chunks width"],
    h0: Inexact[Array, " width"],
) -> Inexact[Array, "position chunks width"]:
    """All states; `count` is the number of parts that lie side by side in `width`.

    The parts stay apart until the states are written: XLA then keeps each pass in one loop.
    """
    parts = functools.partial(_parts, count)
    varying = a.ndim == 3
    positions = range(CHUNK - 1, -1, -1) if reverse else range(CHUNK)
    gates = {j: parts(a[j] if varying else a) for j in positions}

    # Up: what each chunk adds to the state that enters it, and the product of its gates.
    first = positions[0]
    end = parts(b[first])
    for j in positions[1:]:
        end = _plus(_times(gates[j], end), parts(b[j]))
    product = None
    if varying:
        product = functools.reduce(_times, (gates[j] for j in positions))

    # Across: from chunk to chunk, keeping the state that enters each.
    def cross(x, chunk):
        added, kept = chunk
        left = x
        if varying:
            left = _times(kept, left)
        else:
            # Step by step: the rounding of a power a^16 would add up over the chunks.
            for _ in range(CHUNK):
                left = _times(gates[first], left)
        return _plus(left, added), x

    entering = lax.scan(cross, parts(h0), (end, product), reverse=reverse)[1]

    # Down: every state from the one before it.
    states, x = {}, entering
    for j in positions:
        x = _plus(_times(gates[j], x), parts(b[j]))
        states[j] = jnp.concatenate(x, axis=-1)
    return jnp.stack([states[j] for j in range(CHUNK)])


def _carried(count: int, reverse: bool, a: Array, x: Array, h0: Array) -> Array:
    """a_k x_{k−1}, one position after the other: the gates' gradient then reads each state once."""
    if reverse:
        before = [*x[1:], jnp.concatenate([x[0, 1:], h0[None]])]
    else:
        before = [jnp.concatenate([h0[None], x[-1, :-1]]), *x[:-1]]
    gates = a if a.ndim == 3 else [a] * CHUNK
    return jnp.stack([_multiply(count, gates[j], before[j]) for j in range(CHUNK)])


def _following(reverse: bool, a: Array) -> Array:
    """The gates of the next step; beyond the last there are none."""
    none = jnp.zeros_like(a[0, :1])
    if reverse:
        first = jnp.concatenate([none, a[-1, :-1]])
        return jnp.concatenate([first[None], a[:-1]])
    last = jnp.concatenate([a[0, 1:], none])
    return jnp.concatenate([a[1:], last[None]])


def _recurrence(count: int, adjoint: Callable[[Array], Array]) -> Recurrence:
    return Recurrence(
        solve=functools.partial(_solve, count),
        carried=functools.partial(_carried, count),
        multiply=functools.partial(_multiply, count),
        following=_following,
        first=lambda reverse: (-1, -1) if reverse else (0, 0),
        adjoint=adjoint,
    )


# scan(reverse, gates, inputs, h0), all chunk-major but h0; gates (width,) where they are constant.
scan_real = differentiable(_recurrence(1, adjoint=lambda a: a))
scan_halves = differentiable(_recurrence(2, adjoint=_conjugate_halves))
