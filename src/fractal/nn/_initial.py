"""What a layer draws at random, scaled so that white noise comes out with unit variance.

Half of the variance comes from the modes, an equal share from each block, and half from D.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._engine.discretize import gate_and_rest
from .._engine.parts import to_halves


class Drawn(NamedTuple):
    """The parameters of a layer besides its modes."""

    log_dt: Float[Array, " steps"]
    B: Float[Array, "2*modes width"]
    C: Float[Array, "width read"]
    D: Float[Array, " width"]


@functools.partial(
    jax.jit, static_argnames=("sizes", "width", "shared", "scans", "uniform", "discretization")
)
def draw(
    key: PRNGKeyArray,
    rates: Complex[Array, " modes"],
    gains: Float[Array, " modes"],
    dt_ends: Float[Array, "2"],
    *,
    sizes: tuple[int, ...],
    width: int,
    shared: bool,
    scans: int,
    uniform: bool,
    discretization: str,
) -> Drawn:
    """Draw a layer; compiled once for all layers of a shape.

    **Arguments:**

    - `rates`, `gains`, `sizes`: the modes of all blocks, and how many each has.
    - `dt_ends`: the range of the time steps Δ.
    - `shared`: one Δ and one input direction for a block, or for each mode.
    - `scans`: how many scans the output is read from.
    - `uniform`: whether all steps take the same time. Under the scale-invariant clock, where the
      variance falls with time, that of the first sample is made one.
    """
    keys = jax.random.split(key, 4)
    low, high = jnp.log(dt_ends)
    log_dt = jax.random.uniform(keys[0], (len(sizes) if shared else sum(sizes),), low.dtype)
    log_dt = low + (high - low) * log_dt
    B = _directions(keys[1], rates, sizes, width, shared)

    # A mode's variance is |b̄|²/(1 − |g|²); it is one factor for each block that puts it right.
    power = jnp.sum(jnp.abs(B) ** 2, axis=1) * (gains / jnp.abs(rates)) ** 2
    if uniform:
        dt = jnp.exp(repeated(log_dt, sizes))
        one = jnp.ones((), dt.dtype)
        _, rest = gate_and_rest(discretization, (rates.real * dt, rates.imag * dt), one)
        size = rest[0] ** 2 + rest[1] ** 2
        power *= size / (2 * rest[0] - size)  # 1 − |g|², from 1 − g
    block = np.repeat(np.arange(len(sizes)), sizes)
    total = jax.ops.segment_sum(power, block, len(sizes))
    B *= jnp.sqrt(sum(sizes) / (2 * len(sizes) * total))[block][:, None]
    return Drawn(
        log_dt,
        to_halves(B, axis=0),
        _readout(keys[2], rates, width, scans),
        jax.random.normal(keys[3], (width,), low.dtype) * np.sqrt(0.5),
    )


def repeated(x: Float[Array, " steps"], sizes: tuple[int, ...]) -> Float[Array, " modes"]:
    """What belongs to a block for each of its modes; what belongs to modes as it is."""
    if len(x) == sum(sizes):
        return x
    return x[np.repeat(np.arange(len(sizes)), sizes)]


def _directions(
    key: PRNGKeyArray,
    rates: Complex[Array, " modes"],
    sizes: tuple[int, ...],
    width: int,
    shared: bool,
) -> Complex[Array, "modes width"]:
    """Of about unit length: one for each mode, or a real one for each block.

    That of a real mode is real.
    """
    if shared:
        one = jax.random.normal(key, (len(sizes), width), rates.real.dtype) / np.sqrt(width)
        return one[np.repeat(np.arange(len(sizes)), sizes)] + 0j
    is_real = rates.imag[:, None] == 0
    shape = (2, sum(sizes), width)
    real, imaginary = jax.random.normal(key, shape, rates.real.dtype) / np.sqrt(2 * width)
    return jax.lax.complex(
        jnp.where(is_real, np.sqrt(2) * real, real), jnp.where(is_real, 0.0, imaginary)
    )


def _readout(
    key: PRNGKeyArray, rates: Complex[Array, " modes"], width: int, scans: int
) -> Float[Array, "width read"]:
    """Weights of real and imaginary parts, of all scans; for y = Re(c z) they are Re c and −Im c.

    A real mode gets no imaginary weight. Nothing then moves it off the real axis, neither its
    frequency nor its input: all three gradients vanish.
    """
    weight = jax.random.normal(key, (width, scans, 2, len(rates)), rates.real.dtype)
    weight = weight.at[:, :, 1].multiply(rates.imag != 0)
    return weight.reshape(width, -1) / np.sqrt(len(rates) * scans)
