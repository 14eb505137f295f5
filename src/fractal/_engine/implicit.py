"""Implicit differentiation of a linear recurrence.

The recurrence x_k = a_k x_{k−1} + b_k is the linear system (I − aS) x = b, with S the time shift.
It is declared as such (`custom_linear_solve`), so that derivatives of every order, in forward and
reverse mode, are scans. The adjoint is a scan in the opposite direction with the adjoint gates, and
only the states are stored for it.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from .parts import Parts, join, multiply, split, transpose

Scan = Callable[[bool, Parts, Array, Array], Array]


def differentiable(solve: Scan) -> Scan:
    """Add derivative rules to a solver `solve(reverse, gates, b, h0)` of the recurrence.

    Gates are `Parts`; constant gates have no time axis.
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
        right = db.at[first].add(apply_gates(gate, dh0))

        # The derivative of x_k − a_k x_{k−1} = b_k: the tangent solves the same system.
        return x, linear(scan, reverse, a, right + carried(reverse, da, x, h0))

    return scan


def linear(scan: Scan, reverse: bool, a: Parts, b: Array) -> Array:
    """The scan from a zero state, declared to JAX as a linear function of b."""
    zero = jnp.zeros_like(b[0])
    return lax.custom_linear_solve(
        lambda x: x - carried(reverse, a, x),
        b,
        lambda _, b: scan(reverse, a, b, zero),
        lambda _, g: scan(not reverse, adjoint_gates(reverse, a, g), g, zero),
    )


def apply_gates(a: Parts, x: Array) -> Array:
    """Elementwise product of gates and states, for joined parts."""
    return join(multiply(a, split(len(a), x)))


def carried(reverse: bool, a: Parts, x: Array, h0: Array | None = None) -> Array:
    """a_k x_{k−1} for each step k."""
    return apply_gates(a, previous(reverse, x, jnp.zeros_like(x[0]) if h0 is None else h0))


def adjoint_gates(reverse: bool, a: Parts, x: Array) -> Parts:
    """Gates of the adjoint scan: x_k enters x_{k+1} by a_{k+1}, the gate of the following step."""
    if _varies(a, x):
        a = tuple(previous(not reverse, p, jnp.zeros_like(p[0])) for p in a)
    return transpose(a)


def _varies(a: Parts, x: Array) -> bool:
    return a[0].ndim == x.ndim


def previous(reverse: bool, x: Array, h0: Array) -> Array:
    """x_{k−1} for each step k; x_{k+1} for a reverse scan."""
    return jnp.concatenate([x[1:], h0[None]] if reverse else [h0[None], x[:-1]])
