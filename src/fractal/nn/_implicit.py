"""Derivatives of a linear recurrence from the recurrence itself.

Solving x_k = a_k x_{k−1} + b_k is solving a linear system, (I − aS) x = b with S the shift in
time. JAX is told just that (`custom_linear_solve`), so that derivatives of every order, forward
and reverse, are scans again: the adjoint runs backwards with the adjoint gates, and nothing but
the states is kept.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ._parts import join, split, times, transpose

Scan = Callable[[bool, Array, Array, Array], Array]


def differentiable(solve: Scan, halves: bool = False) -> Scan:
    """`solve(reverse, a, b, h0)`, which runs the recurrence along the first axis, with derivatives.

    Gates of fewer dimensions than b do not change.
    """
    parts = functools.partial(split, halves)

    def multiply(a, x):
        return join(times(parts(a), parts(x)))

    def carried(reverse, a, x, h0):
        return multiply(a, _previous(reverse, x, h0))

    def scan(reverse, a, b, h0):
        return solve(reverse, a, b, h0)

    scan = jax.custom_jvp(scan, nondiff_argnums=(0,))

    @scan.defjvp
    def _(reverse, primals, tangents):
        (a, b, h0), (da, db, dh0) = primals, tangents
        x = scan(reverse, a, b, h0)
        first = -1 if reverse else 0
        gate = a[first] if a.ndim == b.ndim else a
        return x, tangent(reverse, a, x, h0, db.at[first].add(multiply(gate, dh0)), da)

    def tangent(reverse, a, x, h0, right, da):
        """Differentiate x_k − a_k x_{k−1} = b_k: the tangent solves the same system.

        The gates' tangent is an unknown beside it, so that its cotangent is ours to write:
        autodiff would sum each real product over time by itself.
        """
        zero = jnp.zeros_like(h0)

        def system(unknown):
            dx, da = unknown
            return dx - carried(reverse, a, dx, zero) - carried(reverse, da, x, h0), da

        def solution(_, known):
            right, da = known
            return scan(reverse, a, right + carried(reverse, da, x, h0), zero), da

        def adjoint(_, known):
            g, ga = known
            # Step k reaches k + 1 through a_{k+1}: the adjoint's gates are those of the next step.
            gates = _previous(not reverse, a, jnp.zeros_like(a[0])) if a.ndim == x.ndim else a
            g = scan(not reverse, join(transpose(parts(gates))), g, zero)
            return g, ga + gates_cotangent(reverse, x, h0, g, constant=a.ndim < x.ndim)

        return lax.custom_linear_solve(system, (right, da), solution, adjoint)[0]

    def gates_cotangent(reverse, x, h0, g, constant):
        def products(x, g):
            return times(transpose(parts(x)), parts(g))

        if not constant:
            return join(products(_previous(reverse, x, h0), g))
        # Without joining h0 to the states, which would copy them.
        early, late, first = (x[1:], g[:-1], g[-1]) if reverse else (x[:-1], g[1:], g[0])
        summed = join(tuple(p.sum(axis=0) for p in products(early, late)))
        return summed + join(products(h0, first))

    return scan


def _previous(reverse: bool, x: Array, h0: Array) -> Array:
    """The state before each step."""
    return jnp.concatenate([x[1:], h0[None]] if reverse else [h0[None], x[:-1]])
