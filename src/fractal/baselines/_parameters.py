"""Parameters of the state-space baselines: complex numbers as pairs, and initializers.

Complex parameters are stored as real arrays with a last axis of length two, so that `jax.grad` and
optimizers treat them as two real numbers.
"""

import functools
import math
from typing import SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._checks import check_count


def to_pairs(x: Complex[Array, "*shape"] | Complex[np.ndarray, "*shape"]) -> Float[Array, "..."]:
    """Stack real and imaginary parts along a new last axis."""
    return jnp.stack([jnp.real(x), jnp.imag(x)], axis=-1)


def from_pairs(x: Float[Array, "*shape 2"]) -> Complex[Array, "*shape"]:
    """Inverse of `to_pairs`."""
    return jax.lax.complex(x[..., 0], x[..., 1])


def log_steps(
    key: PRNGKeyArray, shape: tuple[int, ...], ends: tuple[float, float]
) -> Float[Array, "*shape"]:
    """Logarithms of step sizes Δ, log-uniform between the ends."""
    low, high = np.log(ends).tolist()
    return low + (high - low) * jax.random.uniform(key, shape)


def complex_normal(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape 2"]:
    """Complex normal numbers of unit variance, as pairs."""
    return jax.random.normal(key, (*shape, 2)) * math.sqrt(0.5)


def lecun_normal(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int) -> Float[Array, "*shape"]:
    """Normal numbers truncated at two standard deviations, of variance 1/fan_in."""
    truncated_std = 0.879625661034239782  # of N(0, 1) truncated to [−2, 2]
    return jax.random.truncated_normal(key, -2.0, 2.0, shape) / (truncated_std * math.sqrt(fan_in))


@functools.partial(jax.jit, static_argnames=("width", "modes", "scans", "ends"))
def init_parameters(
    key: PRNGKeyArray, *, width: int, modes: int, scans: int, ends: tuple[float, float]
) -> tuple[Array, Array, Array]:
    """C, D and log Δ of S4 and S4D. Compiled once per combination of shapes."""
    keys = jax.random.split(key, 3)
    C = complex_normal(keys[0], (scans, width, modes))
    return C, jax.random.normal(keys[1], (width,)), log_steps(keys[2], (width,), ends)


def tile_channels(x: Array, width: int) -> Array:
    """Tile `copies` sets of parameters over the channels: channel h uses set h mod copies."""
    return jnp.tile(x, (width // len(x), *[1] * (x.ndim - 1)))


def check_copies(copies: SupportsIndex, width: int) -> int:
    """Validate the number of parameter sets, a divisor of the width."""
    count = check_count("copies", copies, smallest=1)
    if width % count:
        raise ValueError(f"copies must divide width = {width}, got {count}")
    return count
