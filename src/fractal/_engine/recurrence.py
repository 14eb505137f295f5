"""The diagonal recurrence of all layers, with implicit derivatives.

x_k = a_k x_{k−1} + b_k is the linear system (I − aS) x = b, with S the time shift. It is declared
as such (`custom_linear_solve`), so that derivatives of every order, in forward and reverse mode,
are scans. The transpose is a scan in the opposite direction with conjugate gates, and only the
states are stored for it.

`scan` solves this recurrence, and `average` x_k = g_k x_{k−1} + (1 − g_k) v_k for varying elapsed
times; layers call `states`, which selects one of the two. Scans in both directions of time are
computed together, with their states side by side.
"""

import functools
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float

from .discretize import bilinear_slope, cpu_gates, finite, gate_and_complement, over_modes
from .pair import Pair, complex_to_real
from .sharding import entering, is_first, previous, varying
from .solvers import Step, assemble, average_step, scan_step, solve, transposed_step

T = TypeVar("T")
Gates = tuple[Pair, ...]
Inputs = tuple[Float[Array, "time re_im"], ...]
Starts = tuple[Float[Array, " re_im"] | None, ...]


class Scans(NamedTuple):
    """How one or more scans are computed.

    **Arguments:**

    - `method`: see `solvers`.
    - `reverse`: for each scan, whether it runs in reverse time.
    - `axis_name`: the mesh axis over which time is sharded.
    - `transposed`: solve y_k = a_{k−1} y_{k−1} + c_k instead of x_k = a_k x_{k−1} + b_k.
    - `differentiated`: whether the states are also those of a derivative; see `assemble`.
    """

    method: str
    reverse: tuple[bool, ...]
    axis_name: str | None = None
    transposed: bool = False
    differentiated: bool = False

    def transpose(self) -> "Scans":
        """The scans that solve the transposed system; its gates are the conjugates."""
        reverse = tuple(not r for r in self.reverse)
        return self._replace(reverse=reverse, transposed=not self.transposed)

    def each(self, shared: tuple[T, ...]) -> tuple[T, ...]:
        """One entry per scan, of a tuple that may have one entry for all scans."""
        return shared * len(self.reverse) if len(shared) == 1 else shared

    def split(self, x: Float[Array, "time total"]) -> Inputs:
        """The arrays of the scans, from arrays side by side."""
        return tuple(jnp.split(x, len(self.reverse), axis=-1)) if len(self.reverse) > 1 else (x,)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def scan(scans: Scans, gates: Gates, inputs: Inputs, starts: Starts) -> Float[Array, "time total"]:
    """The states of all scans after each step, side by side.

    **Arguments:**

    - `gates`: for each scan, with a time axis, or without it if they are constant.
    - `inputs`: for each scan; real and imaginary parts joined.
    - `starts`: for each scan, the state before its first step; None is zero.
    """
    return _solve(scans, transposed_step if scans.transposed else scan_step, gates, inputs, starts)


@scan.defjvp
def _(scans, primals, tangents):
    (gates, inputs, starts), (dgates, dinputs, dstarts) = primals, tangents
    scans = scans._replace(differentiated=True)
    x = scan(scans, gates, inputs, starts)
    # The derivative of x_k − a_k x_{k−1} = b_k: the tangent solves the same system.
    carried = _carried(scans, dgates, x, starts)
    right = tuple(db + dax for db, dax in zip(dinputs, carried, strict=True))
    return x, _linear(scans, gates, _with_starts(scans, gates, right, dstarts))


def average(
    scans: Scans,
    discretization: str,
    w: Pair,
    elapsed: tuple[Float[Array, "time *groups"], ...],
    v: Float[Array, "time re_im"],
    starts: Starts,
) -> Float[Array, "time total"]:
    """The states of x_k = g_k x_{k−1} + (1 − g_k) v_k for all scans, side by side.

    **Arguments:**

    - `discretization`: of the gates.
    - `w`: λ per unit of time: decay and rotation of each mode.
    - `elapsed`: the elapsed time per step, or per step and group of modes (see `over_modes`); one
      array for all scans, which then share the gates, or one for each. An infinite time gives
      g = 0.
    - `v`: steady-state response to the input of each step.
    - `starts`: for each scan, the state before its first step; None is zero.
    """
    gates = tuple(_materialized_gates(discretization, w, times) for times in elapsed)
    return _average(scans, discretization, w, elapsed, gates, v, starts)


def _materialized_gates(
    discretization: str, w: Pair, elapsed: Float[Array, "time *groups"]
) -> Pair:
    """The gates of all steps.

    On CPUs in a loop, since XLA would otherwise recompute them in every pass and for every sequence
    of a batch. The temporaries of a block of steps fit into the cache of a core. Elsewhere
    all at once: the blocks of a loop would follow one another.
    """

    def at_once(w, elapsed):
        return gate_and_complement(discretization, w, elapsed)[0]

    def in_blocks(w, elapsed):
        gates = functools.partial(cpu_gates, discretization, w)
        if elapsed.ndim == 1:
            return lax.map(lambda step: gates(step[None])[0], elapsed, batch_size=256)

        # Times of groups differ between the sequences of a batch. In place: `lax.map` would
        # transpose the gates of a batch.
        def write(i, written):
            start = jnp.minimum(i * size, len(elapsed) - size)
            block = gates(lax.dynamic_slice_in_dim(elapsed, start, size))
            return jax.tree.map(
                lambda x, part: lax.dynamic_update_slice_in_dim(x, part, start, 0),
                written,
                block,
            )

        size = min(64, len(elapsed))
        empty = jnp.zeros_like(over_modes(elapsed, w))
        return lax.fori_loop(0, -(-len(elapsed) // size), write, Pair(empty, empty))

    return lax.platform_dependent(w, elapsed, cpu=in_blocks, default=at_once)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _average(scans, discretization, w, elapsed, gates, v, starts):
    """`average` for precomputed gates. Their tangents follow from those of w and `elapsed`."""
    return _solve(scans, average_step, scans.each(gates), scans.each((v,)), starts)


@_average.defjvp
def _(scans, discretization, primals, tangents):
    w, elapsed, gates, v, starts = primals
    dw, delapsed, _, dv, dstarts = tangents
    scans = scans._replace(differentiated=True)
    x = _average(scans, discretization, *primals)
    elapsed, delapsed, gates = (scans.each(one) for one in (elapsed, delapsed, gates))
    value, dvalue = (Pair.split(array, paired=True) for array in (v, dv))
    right = []
    for reverse, times, dtimes, g, states, start in zip(
        scans.reverse, elapsed, delapsed, gates, scans.split(x), starts, strict=True
    ):
        # ∂x_k/∂(λδ) = −dg/d(λδ) (v_k − x_{k−1}), which is v_k − x_k for zero-order hold: no shift
        # in time. λ and δ are differentiated separately, so that sums over time reduce to products.
        if discretization == "zoh":
            difference = value - Pair.split(states, paired=True)
        else:
            before = previous(scans.axis_name, reverse, states, start)
            difference = bilinear_slope(w, times) * (value - Pair.split(before, paired=True))
        from_gates = dw * difference.scale(over_modes(finite(times), w)) + (w * difference).scale(
            over_modes(dtimes, w)
        )
        right.append((dvalue - g * dvalue + from_gates).join())
    return x, _linear(scans, gates, _with_starts(scans, gates, tuple(right), dstarts))


def states(
    scans: Scans,
    discretization: str,
    modes: tuple[Pair, Complex[Array, "modes width"]],
    elapsed: tuple[Float[Array, "..."], ...],
    signal: Float[Array, "time width"],
    starts: Starts,
) -> Float[Array, "time total"]:
    """The states of a layer's modes after each step of each scan, side by side.

    **Arguments:**

    - `modes`: λ per unit of time (decay and rotation) and the steady-state response B/λ.
    - `elapsed`: elapsed time per step, or per step and group of modes, or a scalar if it is
      constant; one for all scans or one for each.
    - `signal`: the input of the layer.
    - `starts`: for each scan, the state before its first step; None is zero.
    """
    (w, B), elapsed, starts = varying(scans.axis_name, (modes, elapsed, starts))
    if elapsed[0].ndim:
        v = signal @ complex_to_real(B, axis=0).T
        return average(scans, discretization, w, elapsed, v, starts)
    # Constant gates: 1 − g is multiplied into B, which saves a product per step.
    gate, complement = gate_and_complement(discretization, w, elapsed[0])
    folded = lax.complex(*complement.parts)[:, None] * B
    b = signal @ complex_to_real(folded, axis=0).T
    return scan(scans, scans.each((gate,)), scans.each((b,)), starts)


def _solve(scans: Scans, step: Step, gates: Gates, inputs: Inputs, starts: Starts) -> Array:
    pieces = []
    for reverse, g, b, start in zip(scans.reverse, gates, inputs, starts, strict=True):
        first = None if start is None else Pair.split(start, paired=g.imag is not None)
        if scans.axis_name is not None:
            first = entering(scans.axis_name, scans.method, step, reverse, g, b, first)
        pieces.append(solve(scans.method, step, reverse, g, b, first))
    return assemble(len(inputs[0]), pieces, stacked=scans.differentiated)


def _linear(scans: Scans, gates: Gates, b: Float[Array, "time total"]) -> Array:
    """The scans from zero, declared to JAX as a linear function of b."""
    zeros = (None,) * len(scans.reverse)

    def matvec(x):
        return x - jnp.concatenate(_carried(scans, gates, x, zeros), axis=-1)

    def transpose_solve(_, c):
        transpose = scans.transpose()
        return scan(transpose, tuple(g.conj() for g in gates), transpose.split(c), zeros)

    return lax.custom_linear_solve(
        matvec, b, lambda _, b: scan(scans, gates, scans.split(b), zeros), transpose_solve
    )


def _carried(scans: Scans, gates: Gates, x: Array, starts: Starts) -> Inputs:
    """a_k x_{k−1} for each step k of each scan; a_{k−1} x_{k−1} if transposed."""
    carried = []
    for reverse, a, states, start in zip(scans.reverse, gates, scans.split(x), starts, strict=True):
        if a.ndim == 1 or scans.transposed:
            # The product before the shift: the shifted states need not be stored.
            decayed = _times(a, states)
            first = None if start is None else _times(a, start)
            carried.append(previous(scans.axis_name, reverse, decayed, first))
        else:
            carried.append(_times(a, previous(scans.axis_name, reverse, states, start)))
    return tuple(carried)


def _with_starts(scans: Scans, gates: Gates, right: Inputs, starts: Starts) -> Array:
    """Add the contributions of the starts to the inputs of the first steps; join the scans."""
    total = []
    for reverse, a, b, start in zip(scans.reverse, gates, right, starts, strict=True):
        first = -1 if reverse else 0
        if start is not None:
            added = _times(a if a.ndim == 1 else a[first], start)
            here = is_first(scans.axis_name, reverse)
            b = b.at[first].add(jnp.where(here, added, jnp.zeros_like(added)))
        total.append(b)
    return jnp.concatenate(total, axis=-1)


def _times(a: Pair, x: Array) -> Array:
    return (a * Pair.split(x, paired=a.imag is not None)).join()
