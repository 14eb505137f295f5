"""The Transformer's block: attention and a two-layer perceptron, each behind a norm."""

from collections.abc import Callable
from typing import Any, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from ..nn._block import Mixer, check_dropout, dense
from ..nn._norms import BATCH_AXIS, LayerNorm
from ..theory._arguments import check_count
from ._attention import Attention


class TransformerBlock(eqx.Module):
    """x + attention(norm(x)), then x + perceptron(norm(x)), for one sequence.

    Attention sees no order: `SequenceModel(positions=…)` gives it one.

    >>> import functools, jax
    >>> from fractal.baselines import Performer, TransformerBlock
    >>> from fractal.nn import SequenceModel
    >>> block = functools.partial(TransformerBlock, attention=Performer, mlp=32)
    >>> model = SequenceModel(
    ...     20, 10, 16, 2, block=block, positions="sinusoid", key=jax.random.key(0)
    ... )
    >>> model(jax.numpy.arange(12)).shape
    (10,)
    """

    norm: LayerNorm
    mixer: Mixer
    second_norm: LayerNorm
    wide: eqx.nn.Linear
    narrow: eqx.nn.Linear
    dropout: float = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        attention: Callable[..., Mixer] = Attention,
        mlp: SupportsIndex | None = None,
        dropout: float = 0.0,
        *,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of channels.
        - `attention`: called as `attention(width, key=key)`: `Attention` or `Performer`, with its
          options set by `functools.partial(Attention, heads=8, causal=True)`.
        - `mlp`: hidden width of the perceptron; by default four times `width`.
        - `dropout`: probability with which a number is left out in training.
        """
        width = check_count("width", width, smallest=1)
        mlp = 4 * width if mlp is None else check_count("mlp", mlp, smallest=1)
        keys = jax.random.split(key, 3)
        self.norm, self.second_norm = LayerNorm(width), LayerNorm(width)
        self.mixer = attention(width, key=keys[0])
        self.wide, self.narrow = _linear(width, mlp, keys[1]), _linear(mlp, width, keys[2])
        self.dropout = check_dropout(dropout)

    def __call__(
        self,
        x: Float[Array, "time width"],
        state: Any = None,
        dt: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Any]:
        """All outputs, and the attention's state after the last step; arguments as for it."""
        y, state = self.mixer(self.norm(x), state, dt, mask)
        return self._perceived(x + y, None), state

    def training(
        self,
        x: Float[Array, "time width"],
        dt: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        axes: tuple[str, ...] = (BATCH_AXIS,),
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, "time width"], None]:
        """All outputs with dropout; there are no batch statistics."""
        early, late = jax.random.split(key)
        y, _ = self.mixer(self.norm(x), None, dt, mask)
        return self._perceived(x + self._dropped(y, early), late), None

    def step(
        self, x: Float[Array, " width"], state: Any, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Any]:
        """One step, of causal attention."""
        y, state = self.mixer.step(self.norm(x), state, dt)
        return self._perceived(x + y, None), state

    def _perceived(self, x: Array, key: PRNGKeyArray | None) -> Array:
        early, late = (None, None) if key is None else jax.random.split(key)
        hidden = self._dropped(jax.nn.gelu(dense(self.wide, self.second_norm(x))), early)
        return x + self._dropped(dense(self.narrow, hidden), late)

    def _dropped(self, x: Array, key: PRNGKeyArray | None) -> Array:
        """Single numbers left out."""
        if key is None or self.dropout == 0:
            return x
        keep = jax.random.bernoulli(key, 1 - self.dropout, x.shape)
        return jnp.where(keep, x / (1 - self.dropout), 0.0).astype(x.dtype)


def _linear(inputs: int, outputs: int, key: PRNGKeyArray) -> eqx.nn.Linear:
    """Xavier's uniform weights, and biases of zero."""
    weight = jax.nn.initializers.xavier_uniform()(key, (outputs, inputs))
    linear = eqx.nn.Linear(inputs, outputs, key=key)
    return eqx.tree_at(lambda x: (x.weight, x.bias), linear, (weight, jnp.zeros(outputs)))
