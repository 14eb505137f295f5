"""FAVOR+: positive orthogonal random features, whose products estimate exp(q·k/√d)."""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

_FLOOR = 1e-6  # added to every feature


def favor_exponents(
    W: Float[Array, "features size"], x: Float[Array, "*time size"]
) -> Float[Array, "*time features"]:
    """W z − |z|²/2 for z = x/d^¼. The expected product of the exponentials is exp(q·k/√d)."""
    scaled = x / x.shape[-1] ** 0.25
    square = jnp.sum(scaled**2, axis=-1, keepdims=True)
    return scaled @ jax.lax.stop_gradient(W).T - square / 2


def favor(
    exponents: Float[Array, "*time features"], stabilizer: Float[Array, "*time"]
) -> Float[Array, "*time features"]:
    """Features (exp(exponent − c) + ε)/√m, whose inner product is a mean over m features."""
    # c cancels in the normalized output, and so does its gradient.
    lowered = exponents - jax.lax.stop_gradient(stabilizer)[..., None]
    return (jnp.exp(lowered) + _FLOOR) / math.sqrt(exponents.shape[-1])


@functools.partial(jax.jit, static_argnames=("count", "size"))
def orthogonal_rows(key: PRNGKeyArray, count: int, size: int) -> Float[Array, "count size"]:
    """Gaussian rows, mutually orthogonal within blocks of `size` rows.

    Directions are from a QR decomposition with positive diagonal of R, which makes them uniformly
    distributed and the estimate unbiased. Norms are sampled as those of Gaussian vectors.
    """
    keys = jax.random.split(key)
    Q, R = jnp.linalg.qr(jax.random.normal(keys[0], (-(-count // size), size, size)))
    directions = Q * jnp.sign(jnp.diagonal(R, axis1=1, axis2=2))[:, None, :]
    rows = jnp.swapaxes(directions, 1, 2).reshape(-1, size)[:count]
    lengths = jnp.linalg.norm(jax.random.normal(keys[1], (count, size)), axis=1)
    return rows * lengths[:, None]
