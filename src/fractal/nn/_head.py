"""From features to outputs: pooling over time, and heads."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._checks import check_count
from .._engine.inputs import check_key
from .._engine.sharding import from_last, total
from ._linear import dense, linear


class RetrievalHead(eqx.Module):
    """Head for pairs of documents: an MLP of their features, difference and product."""

    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, width: int, outputs: int, *, dense_init: str = "uniform", key: PRNGKeyArray):
        width = check_count("width", width, smallest=1)
        outputs = check_count("outputs", outputs, smallest=1)
        keys = jax.random.split(check_key(key))
        self.hidden = linear(4 * width, width, dense_init, key=keys[0])
        self.out = linear(width, outputs, dense_init, key=keys[1])

    def __call__(
        self, one: Float[Array, " width"], two: Float[Array, " width"]
    ) -> Float[Array, " outputs"]:
        """Logits for the features of two documents, each of shape (width,)."""
        pair = jnp.concatenate([one, two, one - two, one * two])
        return self.out(jax.nn.gelu(self.hidden(pair.astype(self.hidden.weight.dtype))))


def pool(
    pooling: str,
    h: Float[Array, "time width"],
    mask: Bool[Array, " time"] | None,
    axis_name: str | None,
) -> Float[Array, "*time width"]:
    """Features of a sequence, or of each step for `"none"`; the mask is False at padding."""
    if pooling == "none":
        return h
    if len(h) == 0:
        raise ValueError("x must have at least one step for pooling")
    if pooling == "last":
        last = h[-1] if mask is None else h[len(h) - 1 - jnp.argmax(mask[::-1])]
        return last if axis_name is None else from_last(axis_name, mask, last)
    wide = h.astype(jnp.float32) if jnp.finfo(h.dtype).bits < 32 else h
    if mask is None:
        mean = wide.mean(axis=0)
        return mean if axis_name is None else jax.lax.pmean(mean, axis_name)
    count = jnp.maximum(total(axis_name, mask.sum()), 1).astype(wide.dtype)
    return total(axis_name, wide.sum(axis=0, where=mask[:, None])) / count


def apply_head(
    head: eqx.nn.Linear, features: Float[Array, "*time width"]
) -> Float[Array, "*time outputs"]:
    """Apply a linear head, in the dtype of its parameters."""
    return dense(head, features.astype(head.weight.dtype))
