"""Derivatives of a linear recurrence from the recurrence itself.

Solving x_k = a_k x_{k−1} + b_k is solving a linear system, (I − aS) x = b with S the shift in
time. JAX is told just that (`custom_linear_solve`), so that derivatives of every order, forward
and reverse, are scans again: the adjoint runs backwards with the adjoint gates, and nothing but
the states is kept.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from .parts import Parts, join, split, times, transpose

Scan = Callable[[bool, Parts, Array, Array], Array]


def differentiable(solve: Scan) -> Scan:
    """`solve(reverse, gates, b, h0)`, which runs the recurrence, with its derivatives.

    Gates come as parts, and without the time axis where they do not change.
    """

    def scan(reverse, a, b, h0):
        return solve(reverse, a, b, h0)

    scan = jax.custom_jvp(scan, nondiff_argnums=(0,))

    @scan.defjvp
    def _(reverse, primals, tangents):
        (a, b, h0), (da, db, dh0) = primals, tangents
        x = scan(reverse, a, b, h0)
        first = -1 if reverse else 0
        gate = tuple(p[first] for p in a) if _varies(a, b) else a
        right = db.at[first].add(multiply(gate, dh0))

        # Differentiate x_k − a_k x_{k−1} = b_k: the tangent solves the same system.
        return x, linear(scan, reverse, a, right + carried(reverse, da, x, h0))

    return scan


def linear(scan: Scan, reverse: bool, a: Parts, b: Array) -> Array:
    """The scan from a zero state, as a linear function of b that JAX can transpose."""
    zero = jnp.zeros_like(b[0])
    return lax.custom_linear_solve(
        lambda x: x - carried(reverse, a, x),
        b,
        lambda _, b: scan(reverse, a, b, zero),
        lambda _, g: scan(not reverse, adjoint_gates(reverse, a, g), g, zero),
    )


def multiply(a: Parts, x: Array) -> Array:
    """The product of gates and states."""
    return join(times(a, split(len(a), x)))


def carried(reverse: bool, a: Parts, x: Array, h0: Array | None = None) -> Array:
    """a_k x_{k−1} for each step."""
    return multiply(a, previous(reverse, x, jnp.zeros_like(x[0]) if h0 is None else h0))


def adjoint_gates(reverse: bool, a: Parts, x: Array) -> Parts:
    """Step k reaches k + 1 through a_{k+1}: the adjoint's gates are those of the next step."""
    if _varies(a, x):
        a = tuple(previous(not reverse, p, jnp.zeros_like(p[0])) for p in a)
    return transpose(a)


def _varies(a: Parts, x: Array) -> bool:
    return a[0].ndim == x.ndim


def previous(reverse: bool, x: Array, h0: Array) -> Array:
    """The state before each step."""
    return jnp.concatenate([x[1:], h0[None]] if reverse else [h0[None], x[:-1]])
