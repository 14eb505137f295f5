"""Position embeddings, exact for streams of any length.

The number of a step is kept as two unsigned integers of 32 bits, the lower one first.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, UInt, UInt32

from .._engine.sharding import part_number, total_length
from .._sinusoids import turns_per_step

_BITS, _PLACES = 4, 16  # a step number has 16 digits of 4 bits


def no_steps() -> UInt32[Array, "2"]:
    """The number zero."""
    return jnp.zeros(2, jnp.uint32)


def add_steps(steps: UInt32[Array, "2"], more: UInt32[Array, "*time"]) -> UInt32[Array, "2 *time"]:
    """The sum of `steps` and each element of `more`."""
    low, high = (lax.broadcast(word, more.shape) for word in steps)
    lower = low + more
    return jnp.stack([lower, high + (lower < low).astype(jnp.uint32)])


def steps_as_float(steps: UInt32[Array, "2 *time"], dtype: jnp.dtype) -> Float[Array, "*time"]:
    """Step numbers in floating point, rounded."""
    return steps[0].astype(dtype) + steps[1].astype(dtype) * 2.0**32


def add_positions(
    h: Float[Array, "time width"],
    positions: str,
    table: Float[Array, "length width"] | None,
    steps: UInt32[Array, "2"] | None,
    axis_name: str | None = None,
) -> Float[Array, "time width"]:
    """Add position embeddings after `steps` steps; None for a whole sequence.

    Over a sharded time axis `h` is the part of one device.
    """
    if positions == "none":
        return h
    length = total_length(len(h), axis_name)
    if steps is None and table is not None and length > len(table):
        raise ValueError(f"x must have at most {len(table)} steps, got {length}")
    start = no_steps() if steps is None else steps
    if axis_name is not None:
        start = add_steps(start, (part_number(axis_name) * len(h)).astype(jnp.uint32))
    numbers = add_steps(start, jnp.arange(len(h), dtype=jnp.uint32))
    rows = sinusoids(numbers, h.shape[1]) if table is None else table_rows(table, numbers)
    return h + rows.astype(h.dtype)


def table_rows(
    table: Float[Array, "length width"], steps: UInt32[Array, "2 time"]
) -> Float[Array, "time width"]:
    """Learned embeddings of steps; the last one for steps after the end of the table."""
    last = np.uint32(len(table) - 1)
    return table[jnp.where(steps[1] > 0, last, jnp.minimum(steps[0], last))]


def sinusoids(steps: UInt32[Array, "2 time"], width: int) -> Float[Array, "time {width}"]:
    """Alternating sines and cosines with wavelengths from 2π to 2π · 10⁴ steps.

    The angle of step n is n times the frequency. It is computed in turns modulo 1, as an unsigned
    integer over 2³² (2⁶⁴ if x64 is enabled) that wraps around: the sum over the digits of n of the
    digit times the angle of its place. The error is below 2⁻²⁵ turns for every n.
    """
    word = jax.dtypes.canonicalize_dtype(np.uint64)
    size = 8 * word.itemsize
    quarter = (np.arange(width) % 2).astype(word) << word.type(size - 2)  # cos x = sin(x + ¼ turn)
    angles = jnp.broadcast_to(jnp.asarray(quarter)[None], (steps.shape[1], width))
    for place, unit in enumerate(_place_angles(width, size)):
        digits = steps[place * _BITS // 32] >> np.uint32(place * _BITS % 32)
        digits = (digits & np.uint32(2**_BITS - 1)).astype(word)
        angles += digits[:, None] * jnp.asarray(unit)[None]
    signed = lax.bitcast_convert_type(angles, jnp.dtype(f"int{size}"))
    return jnp.sin(signed.astype(float) * (2 * math.pi / 2**size))


@functools.lru_cache(maxsize=16)
def _place_angles(width: int, size: int) -> UInt[np.ndarray, "places {width}"]:
    """Angle per unit of each digit, in turns over 2^size, for each channel."""
    turns = turns_per_step(width)
    return np.array(
        [
            [round(turn * 2 ** (size + place * _BITS)) % 2**size for turn in turns]
            for place in range(_PLACES)
        ],
        f"uint{size}",
    )
