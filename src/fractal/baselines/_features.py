"""Positive orthogonal random features, whose products estimate exp(q·k/√d): FAVOR+."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

_FLOOR = 1e-6  # added to every feature


def favor_exponents(
    W: Float[Array, "features size"], x: Float[Array, "*time size"]
) -> Float[Array, "*time features"]:
    """W x − |x|²/2 of x/d^¼, whose exponentials multiply to exp(q·k/√d) in the mean."""
    scaled = x / x.shape[-1] ** 0.25
    square = jnp.sum(scaled**2, axis=-1, keepdims=True)
    return scaled @ jax.lax.stop_gradient(W).T - square / 2


def favor(
    exponents: Float[Array, "*time features"], stabilizer: Float[Array, "*time"]
) -> Float[Array, "*time features"]:
    """exp(exponent − c) + ε, whose products are a mean over the features."""
    # c cancels in the ratio, and so does its gradient.
    lowered = exponents - jax.lax.stop_gradient(stabilizer)[..., None]
    return (jnp.exp(lowered) + _FLOOR) / np.sqrt(exponents.shape[-1])


@functools.partial(jax.jit, static_argnames=("count", "size"))
def orthogonal_rows(key: PRNGKeyArray, count: int, size: int) -> Float[Array, "count size"]:
    """Gaussian rows, orthogonal to each other within blocks of `size`.

    Directions come from QR with the signs put right, or they would not be uniform and the
    estimate not unbiased; lengths are drawn anew, as those of Gaussian vectors.
    """
    keys = jax.random.split(key)
    Q, R = jnp.linalg.qr(jax.random.normal(keys[0], (-(-count // size), size, size)))
    directions = Q * jnp.sign(jnp.diagonal(R, axis1=1, axis2=2))[:, None, :]
    rows = jnp.swapaxes(directions, 1, 2).reshape(-1, size)[:count]
    lengths = jnp.linalg.norm(jax.random.normal(keys[1], (count, size)), axis=1)
    return rows * lengths[:, None]
