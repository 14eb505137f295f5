"""Random initialization, scaled to unit output variance for white-noise input.

One half of the variance is due to the modes, in equal shares of the blocks, the other half to D.
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._engine.discretize import gate_and_complement
from .._engine.pair import Pair, complex_to_real


class InitialParameters(NamedTuple):
    """Parameters of a layer other than its eigenvalues."""

    log_dt: Float[Array, " steps"]
    B: Float[Array, "2*modes width"]
    C: Float[Array, "width read"]
    D: Float[Array, " width"]


@functools.partial(
    jax.jit, static_argnames=("sizes", "width", "shared", "scans", "uniform", "discretization")
)
def init_parameters(
    key: PRNGKeyArray,
    rates: Complex[Array, " modes"],
    gains: Float[Array, " modes"],
    dt_ends: Float[Array, "2"],
    periods: Float[Array, " modes"] | None,
    *,
    sizes: tuple[int, ...],
    width: int,
    shared: bool,
    scans: int,
    uniform: bool,
    discretization: str,
) -> InitialParameters:
    """Sample the initial parameters of a layer. Compiled once per combination of shapes.

    **Arguments:**

    - `rates`, `gains`: eigenvalues λ and gains |b| of the modes of all blocks.
    - `dt_ends`: range of the step sizes Δ.
    - `periods`: for each mode, the period in steps with which it resonates; see `_resonant`.
    - `sizes`: number of modes per block.
    - `shared`: one Δ and one input direction per block, instead of one per mode.
    - `scans`: number of scans: 2 for a bidirectional layer.
    - `uniform`: True for the uniform clock. On the scale-invariant clock the variance decreases
      with time; the variance at the first sample is then normalized.
    """
    keys = jax.random.split(key, 4)
    low, high = jnp.log(dt_ends)
    log_dt = jax.random.uniform(keys[0], (len(sizes) if shared else sum(sizes),), low.dtype)
    log_dt = low + (high - low) * log_dt
    if periods is not None:
        log_dt = _resonant(log_dt, rates.imag, periods)
    B = _directions(keys[1], rates, sizes, width, shared)

    # The variance of a mode is |b̄|²/(1 − |g|²); it is normalized by one factor per block.
    power = jnp.sum(jnp.abs(B) ** 2, axis=1) * (gains / jnp.abs(rates)) ** 2
    if uniform:
        dt = jnp.exp(per_mode(log_dt, sizes))
        one = jnp.ones((), dt.dtype)
        w = Pair(rates.real * dt, rates.imag * dt)
        real, imag = gate_and_complement(discretization, w, one)[1].parts
        size = real**2 + imag**2
        power *= size / (2 * real - size)  # 1 − |g|², from 1 − g
    block = np.repeat(np.arange(len(sizes)), sizes)
    total = jax.ops.segment_sum(power, block, len(sizes))
    B *= jnp.sqrt(sum(sizes) / (2 * len(sizes) * total))[block][:, None].astype(B.dtype)
    return InitialParameters(
        log_dt,
        complex_to_real(B, axis=0),
        _readout(keys[2], rates, width, scans),
        jax.random.normal(keys[3], (width,), low.dtype) * math.sqrt(0.5),
    )


def per_mode(x: Float[Array, "*time steps"], sizes: tuple[int, ...]) -> Float[Array, "*time modes"]:
    """Repeat values per block for the modes of the block; values per mode are unchanged."""
    if x.shape[-1] == sum(sizes):
        return x
    return x[..., np.repeat(np.arange(len(sizes)), sizes)]


def _resonant(
    log_dt: Float[Array, " modes"], frequency: Float[Array, " modes"], periods: Array
) -> Float[Array, " modes"]:
    """Round the rotation per step, Δ·frequency, to a multiple of 2π/period.

    Slower modes, which would be rounded to zero, keep their Δ.
    """
    fundamental = 2 * jnp.pi / periods
    harmonic = jnp.round(jnp.exp(log_dt) * frequency / fundamental)
    rounded = jnp.log(harmonic * fundamental / jnp.where(harmonic > 0, frequency, 1.0))
    return jnp.where(harmonic > 0, rounded, log_dt)


def _directions(
    key: PRNGKeyArray,
    rates: Complex[Array, " modes"],
    sizes: tuple[int, ...],
    width: int,
    shared: bool,
) -> Complex[Array, "modes width"]:
    """Input directions of unit expected squared norm: one per mode, or a real one per block.

    Directions of real modes are real.
    """
    if shared:
        one = jax.random.normal(key, (len(sizes), width), rates.real.dtype) / math.sqrt(width)
        return one[np.repeat(np.arange(len(sizes)), sizes)].astype(rates.dtype)
    is_real = rates.imag[:, None] == 0
    shape = (2, sum(sizes), width)
    real, imaginary = jax.random.normal(key, shape, rates.real.dtype) / math.sqrt(2 * width)
    return jax.lax.complex(
        jnp.where(is_real, math.sqrt(2) * real, real), jnp.where(is_real, 0.0, imaginary)
    )


def _readout(
    key: PRNGKeyArray, rates: Complex[Array, " modes"], width: int, scans: int
) -> Float[Array, "width read"]:
    """Weights of the real and imaginary parts in all scans: Re c and −Im c for y = Re(c z).

    Imaginary weights of real modes are zero. The gradients of these weights, of the frequencies and
    of the imaginary inputs of real modes then vanish, so that real modes remain real.
    """
    weight = jax.random.normal(key, (width, scans, 2, len(rates)), rates.real.dtype)
    weight = weight.at[:, :, 1].multiply((rates.imag != 0).astype(weight.dtype))
    return weight.reshape(width, -1) / math.sqrt(len(rates) * scans)
