"""Discretization of a mode dz/ds = −λ z + b u with eigenvalue λ.

For an input that is constant during a step of size δ, z_k = g z_{k−1} + (1 − g)/λ · b u_k. The gate
is g = exp(−λδ) for zero-order hold (exact), and g = (1 − λδ/2)/(1 + λδ/2) for the bilinear rule.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .pair import Pair
from .sin_cos import sin_cos


def gate_and_complement(method: str, w: Pair, elapsed: Float[Array, "..."]) -> tuple[Pair, Pair]:
    """The gate g and the input weight 1 − g of each mode for λδ = w · elapsed.

    With one elapsed time per step, or per step and group of modes (see `over_modes`), they have a
    time axis. 1 − g is computed without cancellation for small δ. For an infinite elapsed time
    g = 0.
    """
    infinite = jnp.isinf(elapsed if elapsed.ndim == 0 else over_modes(elapsed, w))
    decay, phase = _exponent(w, elapsed).parts
    if method == "zoh":
        modulus = jnp.exp(-decay)
        gate = Pair(modulus * jnp.cos(phase), -modulus * jnp.sin(phase))
        added = -jnp.expm1(-decay) * jnp.cos(phase) + 2 * jnp.sin(phase / 2) ** 2
        complement = Pair(added, modulus * jnp.sin(phase))
    else:
        denominator = (1 + decay / 2) ** 2 + (phase / 2) ** 2
        added = (decay * (1 + decay / 2) + phase**2 / 2) / denominator
        complement = Pair(added, phase / denominator)
        gate = complement.complement()
    return (
        jax.tree.map(lambda part: jnp.where(infinite, 0.0, part), gate),
        Pair(
            *(
                jnp.where(infinite, limit, part)
                for limit, part in zip((1.0, 0.0), complement.parts, strict=True)
            )
        ),
    )


def cpu_gates(method: str, w: Pair, elapsed: Float[Array, "time *groups"]) -> Pair:
    """The gates alone, with the sines and cosines of `sin_cos` for zero-order hold in float32."""
    if method != "zoh" or elapsed.dtype != jnp.float32:
        return gate_and_complement(method, w, elapsed)[0]
    decay, phase = _exponent(w, elapsed).parts
    modulus = jnp.where(jnp.isinf(over_modes(elapsed, w)), 0.0, jnp.exp(-decay))
    sine, cosine = sin_cos(phase)
    return Pair(modulus * cosine, -modulus * sine)


def over_modes(elapsed: Float[Array, "time *groups"], w: Pair) -> Float[Array, "time modes_or_1"]:
    """Elapsed times with an axis that broadcasts over the modes.

    Each group is an equal number of successive modes.
    """
    if elapsed.ndim == 1:
        return elapsed[:, None]
    shape = (*elapsed.shape, len(w.real) // elapsed.shape[1])
    return jnp.broadcast_to(elapsed[:, :, None], shape).reshape(len(elapsed), -1)


def finite(elapsed: Float[Array, "..."]) -> Float[Array, "..."]:
    """Replace infinite elapsed times, which do not contribute to the gradient, by 0."""
    return jnp.where(jnp.isinf(elapsed), 0.0, elapsed)


def bilinear_slope(w: Pair, elapsed: Float[Array, "time *groups"]) -> Pair:
    """−dg/d(λδ) = 1/(1 + λδ/2)² of the bilinear gate, per step."""
    slope = 1 / (1 + lax.complex(*_exponent(w, elapsed).parts) / 2) ** 2
    return Pair(slope.real, slope.imag)


def _exponent(w: Pair, elapsed: Float[Array, "..."]) -> Pair:
    """λδ of each mode, with a time axis for one elapsed time per step."""
    time = finite(elapsed)
    if elapsed.ndim == 0:
        return w.scale(time)
    return w[None].scale(over_modes(time, w))
