"""Derivatives of a linear recurrence from the recurrence itself.

Solving x_k = a_k x_{k−1} + b_k is solving a linear system, (I − aS) x = b with S the shift in
time. JAX is told just that (`custom_linear_solve`), so that derivatives of every order, forward
and reverse, are scans again: the adjoint runs backwards with the adjoint gates, and nothing but
the states is kept.
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array


@dataclasses.dataclass(frozen=True)
class Recurrence:
    """How arrays of one layout hold a recurrence.

    `solve(reverse, a, b, h0)` runs it; `carried(reverse, a, x, h0)` is a_k x_{k−1} for each step;
    `multiply(a, x)` is one such product; `following(reverse, a)` are the gates of the next step;
    `first(reverse)` is the index of the step that follows h0; `adjoint(a)` gives the gates of the
    transpose. Gates of fewer dimensions than b do not change.
    """

    solve: Callable[[bool, Array, Array, Array], Array]
    carried: Callable[[bool, Array, Array, Array], Array]
    multiply: Callable[[Array, Array], Array]
    following: Callable[[bool, Array], Array]
    first: Callable[[bool], tuple[int, ...]]
    adjoint: Callable[[Array], Array]


def differentiable(r: Recurrence) -> Callable[[bool, Array, Array, Array], Array]:
    """`r.solve` with its derivatives."""

    def scan(reverse, a, b, h0):
        return r.solve(reverse, a, b, h0)

    scan = jax.custom_jvp(scan, nondiff_argnums=(0,))

    @scan.defjvp
    def _(reverse, primals, tangents):
        (a, b, h0), (da, db, dh0) = primals, tangents
        x = scan(reverse, a, b, h0)
        # Differentiate x_k − a_k x_{k−1} = b_k: the tangent solves the same system.
        right = db + r.carried(reverse, da, x, h0)
        first = r.first(reverse)
        gate = a[first] if a.ndim == b.ndim else a
        return x, linear(reverse, a, right.at[first].add(r.multiply(gate, dh0)))

    def linear(reverse, a, b):
        """The scan from a zero state: linear in b, with its transpose known."""
        zero = jnp.zeros_like(b[r.first(reverse)])

        def transpose(_, g):
            # Step k reaches k + 1 through a_{k+1}: the adjoint's gates are those of the next step.
            gates = r.following(reverse, a) if a.ndim == b.ndim else a
            return scan(not reverse, r.adjoint(gates), g, zero)

        return lax.custom_linear_solve(
            lambda x: x - r.carried(reverse, a, x, zero),
            b,
            solve=lambda _, right: scan(reverse, a, right, zero),
            transpose_solve=transpose,
        )

    return scan
