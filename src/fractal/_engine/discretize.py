"""Discretization of a mode dz/ds = −λ z + b u with eigenvalue λ.

For an input that is constant during a step of size δ, z_k = g z_{k−1} + (1 − g)/λ · b u_k. The gate
is g = exp(−λδ) for zero-order hold (exact), and g = (1 − λδ/2)/(1 + λδ/2) for the bilinear rule.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .parts import Parts

DISCRETIZATIONS = ("zoh", "bilinear")


def gate_and_complement(
    method: str, w: Parts, elapsed: Float[Array, "*shape"]
) -> tuple[Parts, Parts]:
    """The gate g and the input weight 1 − g for λδ = w · elapsed, as real and imaginary parts.

    1 − g is computed without cancellation for small δ. For an infinite elapsed time g = 0.
    """
    infinite, time = jnp.isinf(elapsed), finite(elapsed)
    decay, phase = w[0] * time, w[1] * time
    if method == "zoh":
        modulus = jnp.exp(-decay)
        gate = modulus * jnp.cos(phase), -modulus * jnp.sin(phase)
        complement = -jnp.expm1(-decay) * jnp.cos(phase) + 2 * jnp.sin(phase / 2) ** 2, -gate[1]
    else:
        denominator = (1 + decay / 2) ** 2 + (phase / 2) ** 2
        complement = (decay * (1 + decay / 2) + phase**2 / 2) / denominator, phase / denominator
        gate = 1 - complement[0], -complement[1]
    return (
        (jnp.where(infinite, 0.0, gate[0]), jnp.where(infinite, 0.0, gate[1])),
        (jnp.where(infinite, 1.0, complement[0]), jnp.where(infinite, 0.0, complement[1])),
    )


def finite(elapsed: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Replace infinite elapsed times, which do not contribute to the gradient, by 0."""
    return jnp.where(jnp.isinf(elapsed), 0.0, elapsed)


def bilinear_slope(w: Parts, elapsed: Float[Array, " time"]) -> Parts:
    """−dg/d(λδ) = 1/(1 + λδ/2)² of the bilinear gate, per step."""
    time = finite(elapsed)[:, None]
    slope = 1 / (1 + lax.complex(w[0][None] * time, w[1][None] * time) / 2) ** 2
    return slope.real, slope.imag
