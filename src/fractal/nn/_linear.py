"""Linear layers with a choice of initialization, and the linear map of one-hot tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._checks import check_choice, check_count
from .._engine.inputs import check_key
from .._options import DENSE_INITS


def linear(inputs: int, outputs: int, init: str, *, key: PRNGKeyArray) -> eqx.nn.Linear:
    """A linear layer with bias.

    `"uniform"` is Equinox's default: weights and biases uniform in ±1/√inputs. `"lecun"` is Flax's:
    weights from a truncated normal distribution of variance 1/inputs, three times as much, and
    biases 0.
    """
    check_choice("dense_init", init, DENSE_INITS)
    layer = eqx.nn.Linear(inputs, outputs, key=key)
    if init == "uniform":
        return layer
    weight = jax.nn.initializers.lecun_normal()(key, (inputs, outputs)).T
    return eqx.tree_at(lambda one: (one.weight, one.bias), layer, (weight, jnp.zeros(outputs)))


def dense(linear: eqx.nn.Linear, x: Float[Array, "*time width"]) -> Float[Array, "*time out"]:
    """Apply a linear layer to the last axis, in the dtype of x."""
    weight, bias = linear.weight.astype(x.dtype), linear.bias
    y = x @ weight.T
    return y if bias is None else y + jax.lax.broadcast_to_rank(bias.astype(x.dtype), y.ndim)


class OneHotLinear(eqx.Module):
    """A linear map with bias of one-hot tokens, the encoder of the published S5.

    Unlike an embedding it has a bias, and weights that are small for large vocabularies.
    """

    weight: Float[Array, "inputs width"]
    bias: Float[Array, " width"]

    def __init__(self, inputs: int, width: int, *, dense_init: str = "lecun", key: PRNGKeyArray):
        """
        **Arguments:**

        - `inputs`: size of the vocabulary.
        - `width`: number of channels.
        - `dense_init`: as for `SequenceModel`.
        """
        inputs = check_count("inputs", inputs, smallest=1)
        width = check_count("width", width, smallest=1)
        layer = linear(inputs, width, dense_init, key=check_key(key))
        assert layer.bias is not None
        self.weight, self.bias = layer.weight.T, layer.bias

    def __call__(self, tokens: Int[Array, "*time"]) -> Float[Array, "*time width"]:
        """Encode token ids."""
        rows = self.weight[tokens]
        return rows + jax.lax.broadcast_to_rank(self.bias, rows.ndim)
