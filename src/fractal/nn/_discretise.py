"""From continuous to discrete time: a step multiplies a mode by g = exp(−(decay + i·turn)).

With the input held during a step, z_k = g z_{k−1} + (1 − g)/λ · b u_k. That holds for the exact
solution (zero-order hold, g = exp(−λδ)) and for the bilinear rule alike; only g differs.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ._parts import Parts

DISCRETISATIONS = ("zoh", "bilinear")


def exponents(method: str, decay: Float[Array, "*shape"], turn: Float[Array, "*shape"]) -> Parts:
    """Decay and turn of one step, for λδ = decay + i·turn."""
    if method == "zoh":
        return decay, turn
    # −log((1 − w/2)/(1 + w/2)) for w = λδ, keeping its digits where w is small.
    below = (1 - decay / 2) ** 2 + (turn / 2) ** 2
    return jnp.log1p(2 * decay / below) / 2, jnp.arctan2(turn, 1 - (decay**2 + turn**2) / 4)


def gates(decay: Float[Array, "*shape"], turn: Float[Array, "*shape"]) -> Parts:
    """g, in parts."""
    size = jnp.exp(-decay)
    return size * jnp.cos(turn), -size * jnp.sin(turn)


def complements(decay: Float[Array, "*shape"], turn: Float[Array, "*shape"]) -> Parts:
    """1 − g, in parts, with all its digits where the step is short."""
    rest = -jnp.expm1(-decay) * jnp.cos(turn) + 2 * jnp.sin(turn / 2) ** 2
    return rest, jnp.exp(-decay) * jnp.sin(turn)


def step_exponents(method: str, w: Parts, elapsed: Float[Array, ""]) -> Parts:
    """Exponents of a step that takes `elapsed`, in which one unit of time would mean w.

    An infinite time leaves nothing.
    """
    ended = jnp.isinf(elapsed)
    finite = jnp.where(ended, 0.0, elapsed)
    decay, turn = exponents(method, w[0] * finite, w[1] * finite)
    return jnp.where(ended, jnp.inf, decay), turn


def step_gates(method: str, w: Parts, elapsed: Float[Array, ""]) -> Parts:
    """The gates of a step that takes `elapsed`."""
    return gates(*step_exponents(method, w, elapsed))


def exponents_slope(w: Parts, elapsed: Float[Array, " time"]) -> Parts:
    """How the bilinear exponent grows with w·elapsed: 1/(1 − (w·elapsed)²/4)."""
    finite = jnp.where(jnp.isinf(elapsed), 0.0, elapsed)[:, None]
    slope = 1 / (1 - lax.complex(w[0] * finite, w[1] * finite) ** 2 / 4)
    return slope.real, slope.imag
