"""From continuous to discrete time: a step multiplies a mode by its gate g.

With the input held during a step, z_k = g z_{k−1} + (1 − g)/λ · b u_k. That holds for the exact
solution (zero-order hold, g = exp(−λδ)) and for the bilinear rule, g = (1 − λδ/2)/(1 + λδ/2),
alike; only g differs.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .parts import Parts

DISCRETIZATIONS = ("zoh", "bilinear")


def gate_and_rest(method: str, w: Parts, elapsed: Float[Array, "*shape"]) -> tuple[Parts, Parts]:
    """g and 1 − g of a step that takes `elapsed`, for λδ = w · elapsed; in parts.

    1 − g keeps its digits where the step is short. An infinite time leaves nothing: g = 0.
    """
    ended, time = jnp.isinf(elapsed), finite(elapsed)
    decay, turn = w[0] * time, w[1] * time
    if method == "zoh":
        size = jnp.exp(-decay)
        gate = size * jnp.cos(turn), -size * jnp.sin(turn)
        rest = -jnp.expm1(-decay) * jnp.cos(turn) + 2 * jnp.sin(turn / 2) ** 2, -gate[1]
    else:
        below = (1 + decay / 2) ** 2 + (turn / 2) ** 2
        rest = (decay * (1 + decay / 2) + turn**2 / 2) / below, turn / below
        gate = 1 - rest[0], -rest[1]
    return (
        (jnp.where(ended, 0.0, gate[0]), jnp.where(ended, 0.0, gate[1])),
        (jnp.where(ended, 1.0, rest[0]), jnp.where(ended, 0.0, rest[1])),
    )


def finite(elapsed: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The time of a step, 0 where it is infinite and nothing depends on it."""
    return jnp.where(jnp.isinf(elapsed), 0.0, elapsed)


def bilinear_slope(w: Parts, elapsed: Float[Array, " time"]) -> Parts:
    """How the bilinear gate falls with λδ: 1/(1 + λδ/2)², for each step."""
    time = finite(elapsed)[:, None]
    slope = 1 / (1 + lax.complex(w[0] * time, w[1] * time) / 2) ** 2
    return slope.real, slope.imag
