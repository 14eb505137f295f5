"""Solvers of a recurrence over time: `solve` and its methods.

A recurrence is a function `step(gate, carry, input)` that returns the next carry and the output of
a step; a carry of None is zero. Carries decay by the gates, so that two successive parts of a
sequence combine: the carry after both is the product of the gates of the second part, times the
carry after the first, plus the carry after the second part from zero.

- `"sequential"`: a loop over the steps.
- `"associative"`: all steps, combined pairwise in logarithmic depth.
- `"chunked"`: a loop over chunks of 16 steps, of which it reads only the last carries.
- `"auto"`: on CPUs as chunked; elsewhere the last carries of the chunks are combined in logarithmic
  depth. The platform is that of the compiled program.

Chunks are views of shape (chunk, position, width) of the arrays, without a transposition. A pass is
vectorized over all chunks at one position, a strided slice with contiguous rows. The passes read
the inputs twice and write the outputs once.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .pair import Pair

CHUNK = 16

Step = Callable[[Pair, Pair | None, Pair], tuple[Pair, Pair]]


def scan_step(gate: Pair, x: Pair | None, b: Pair) -> tuple[Pair, Pair]:
    """x_k = g_k x_{k−1} + b_k."""
    x = b if x is None else gate * x + b
    return x, x


def average_step(gate: Pair, x: Pair | None, v: Pair) -> tuple[Pair, Pair]:
    """x_k = g_k x_{k−1} + (1 − g_k) v_k."""
    # Not v + g (x − v): where g = 1 the state must not change, not even by rounding.
    return scan_step(gate, x, gate.complement() * v)


def transposed_step(gate: Pair, x: Pair | None, c: Pair) -> tuple[Pair, Pair]:
    """y_k = x_{k−1} + c_k with the carry x_k = g_k y_k: the transpose of `scan_step`, reversed."""
    y = c if x is None else x + c
    return gate * y, y


def solve(
    method: str,
    step: Step,
    reverse: bool,
    gates: Pair,
    inputs: Float[Array, "time width"],
    start: Pair | None,
) -> list[Pair]:
    """The outputs of all steps, as pieces that `assemble` joins.

    **Arguments:**

    - `gates`: with a time axis, or without it if they are constant.
    - `start`: the carry before the first step; None is zero.
    """
    if method in ("auto", "chunked"):
        return _chunked(method, step, reverse, gates, inputs, start)
    b = Pair.split(inputs, paired=gates.imag is not None)
    run = _sequential if method == "sequential" else _associative
    return [run(step, reverse, gates, b, start)]


def assemble(
    length: int, scans: Sequence[Sequence[Pair]], *, stacked: bool
) -> Float[Array, "time width"]:
    """The outputs of one or more scans, side by side.

    Piece j of n pieces holds the steps j, n + j, 2n + j, … On CPUs one concatenation is the faster
    way to join them, but its transposition, in gradients, is slower than that of stacked pieces.
    """
    pieces = len(scans[0])
    parts = [[part for x in scans for part in x[j].parts] for j in range(pieces)]
    if stacked and pieces > 1:
        joined = jnp.stack([jnp.concatenate(row, axis=-1) for row in parts], axis=1)
    else:
        joined = jnp.concatenate([part for row in parts for part in row], axis=-1)
    return joined.reshape(-1, sum(part.shape[-1] for part in parts[0]))[:length]


def _sequential(step: Step, reverse: bool, gates: Pair, b: Pair, start: Pair | None) -> Pair:
    start = _zeros_like(b[0]) if start is None else start
    if gates.ndim == b.ndim:
        return lax.scan(lambda x, k: step(k[0], x, k[1]), start, (gates, b), reverse=reverse)[1]
    return lax.scan(lambda x, b: step(gates, x, b), start, b, reverse=reverse)[1]


def _associative(step: Step, reverse: bool, gates: Pair, b: Pair, start: Pair | None) -> Pair:
    carries = prefixes(reverse, _broadcast(gates, b), step(gates, None, b)[0], start)
    return step(gates, carries, b)[1]


def _chunked(
    method: str, step: Step, reverse: bool, gates: Pair, inputs: Array, start: Pair | None
) -> list[Pair]:
    neutral = reverse and start is not None  # the padding comes before the first step
    g, b = _split_chunks(gates, inputs, neutral)
    ends = _ends(step, reverse, g, b)
    carry = _carries(method, reverse, g, ends, start)
    outputs = {}
    for j in _positions(reverse):
        carry, outputs[j] = step(g[j], carry, b[j])
    return [outputs[j] for j in range(CHUNK)]


def _positions(reverse: bool) -> range:
    return range(CHUNK - 1, -1, -1) if reverse else range(CHUNK)


def _split_chunks(gates: Pair, inputs: Array, neutral: bool) -> tuple[list[Pair], list[Pair]]:
    """Gates and inputs of all chunks, by position in the chunk.

    The last chunk is padded by zero inputs. If `neutral`, padding does not change carries.
    """
    padding = -len(inputs) % CHUNK
    paired = gates.imag is not None
    if padding and neutral and gates.ndim == 1:
        gates = _broadcast(gates, Pair.split(inputs, paired=paired))
    if padding:
        pad = functools.partial(jnp.pad, pad_width=((0, padding), (0, 0)))
        inputs = pad(inputs)
        if gates.ndim == 2:
            imag = None if gates.imag is None else pad(gates.imag)
            gates = Pair(pad(gates.real, constant_values=1), imag)
    chunks = inputs.reshape(-1, CHUNK, inputs.shape[1])
    b = [Pair.split(chunks[:, j], paired=paired) for j in range(CHUNK)]
    if gates.ndim == 1:
        return [gates] * CHUNK, b
    planes = jax.tree.map(lambda p: p.reshape(-1, CHUNK, p.shape[1]), gates)
    return [planes[:, j] for j in range(CHUNK)], b


def _ends(step: Step, reverse: bool, gates: list[Pair], b: list[Pair]) -> Pair:
    """The last carry of each chunk from zero."""
    end = None
    for j in _positions(reverse):
        end, _ = step(gates[j], end, b[j])
    assert end is not None
    return end


def _carries(method: str, reverse: bool, gates: list[Pair], ends: Pair, start: Pair | None) -> Pair:
    """The carry before each chunk, from the last carries of the chunks."""
    start = _zeros_like(ends[0]) if start is None else start
    varying = gates[0].ndim == 2
    products = _product(gates) if varying else None

    def loop(gate, products, ends, start):
        # As operands of the loop, products are computed only once.
        def next_chunk(x, chunk):
            end, product = chunk
            return _decayed(x, gate, product) + end, x

        return lax.scan(next_chunk, start, (ends, products), reverse=reverse)[1]

    def tree(gate, products, ends, start):
        decays = products if varying else _broadcast(_product([gate] * CHUNK), ends)
        return prefixes(reverse, decays, ends, start)

    return _by_platform(method, loop, tree, gates[0], products, ends, start)


def end_and_decay(
    method: str, step: Step, reverse: bool, gates: Pair, inputs: Float[Array, "time width"]
) -> tuple[Pair, Pair]:
    """The carry after all steps from zero, and the product of all gates."""
    g, b = _split_chunks(gates, inputs, neutral=True)
    ends = _ends(step, reverse, g, b)
    products = _product(g) if g[0].ndim == 2 else None

    def loop(gate, products, ends):
        def next_chunk(before, chunk):
            end, product = chunk
            carry, decay = (_decayed(x, gate, product) for x in before)
            return (carry + end, decay), None

        zero = _zeros_like(ends[0])
        one = Pair(zero.real + 1, zero.imag)
        return lax.scan(next_chunk, (zero, one), (ends, products), reverse=reverse)[0]

    def tree(gate, products, ends):
        decays = _broadcast(_product([gate] * CHUNK), ends) if products is None else products
        decays, ends = lax.associative_scan(_join, (decays, ends), reverse=reverse)
        last = 0 if reverse else -1
        return ends[last], decays[last]

    return _by_platform(method, loop, tree, g[0], products, ends)


def _decayed(x: Pair, gate: Pair, product: Pair | None) -> Pair:
    """The carry after a chunk of zero inputs; `product` is that of varying gates.

    Constant gates are multiplied one by one: the rounding error of g^16, the same in each chunk,
    would accumulate.
    """
    return _product([x, *([gate] * CHUNK if product is None else [product])])


def _by_platform(method: str, loop: Callable, tree: Callable, *operands):
    if method in ("chunked", "sequential"):
        return loop(*operands)
    if method == "associative":
        return tree(*operands)
    return lax.platform_dependent(*operands, cpu=loop, default=tree)


def _product(gates: Sequence[Pair]) -> Pair:
    return functools.reduce(Pair.__mul__, gates)


def _join(earlier: tuple[Pair, Pair], later: tuple[Pair, Pair]) -> tuple[Pair, Pair]:
    return later[0] * earlier[0], later[0] * earlier[1] + later[1]


def prefixes(reverse: bool, decays: Pair, ends: Pair, start: Pair | None) -> Pair:
    """The carry before each part, by a parallel prefix sum over the parts."""
    decays, carries = lax.associative_scan(_join, (decays, ends), reverse=reverse)
    if start is None:
        start = _zeros_like(ends[0])
    else:
        carries = decays * start + carries
    return jax.tree.map(
        lambda s, x: jnp.concatenate([x[1:], s[None]] if reverse else [s[None], x[:-1]]),
        start,
        carries,
    )


def _broadcast(gates: Pair, x: Pair) -> Pair:
    return jax.tree.map(lambda p: jnp.broadcast_to(p, x.real.shape), gates)


def _zeros_like(x: Pair) -> Pair:
    return jax.tree.map(jnp.zeros_like, x)
