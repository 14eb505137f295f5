"""The Transformer's block: attention and a two-layer perceptron, each behind a norm."""

import functools
from collections.abc import Callable
from typing import Any, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_count, check_probability
from .._engine.inputs import check_key
from ..nn import LayerNorm, Mixer
from ._attention import Attention


class TransformerBlock(eqx.Module):
    """x + attention(norm(x)), then x + perceptron(norm(x)), for one sequence.

    Attention sees no order: `SequenceModel(positions=…)` gives it one.

    >>> import functools, jax
    >>> from fractal.baselines import Performer, TransformerBlock
    >>> from fractal.nn import SequenceModel
    >>> block = functools.partial(TransformerBlock, attention=Performer, mlp=32)
    >>> model = SequenceModel(
    ...     20, 10, width=16, depth=2, block=block, positions="sinusoid", key=jax.random.key(0)
    ... )
    >>> model(jax.numpy.arange(12)).shape
    (10,)
    """

    norm: LayerNorm
    mixer: Mixer
    second_norm: LayerNorm
    W_1: Float[Array, "mlp width"]
    b_1: Float[Array, " mlp"]
    W_2: Float[Array, "width mlp"]
    b_2: Float[Array, " width"]
    dropout: float = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        *,
        attention: Callable[..., Mixer] = Attention,
        mlp: SupportsIndex | None = None,
        dropout: float = 0.0,
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
        if not callable(attention):
            raise ValueError(f"attention must be callable, got {attention!r}")
        keys = jax.random.split(check_key(key))
        self.norm, self.second_norm = LayerNorm(width), LayerNorm(width)
        self.mixer = attention(width, key=keys[0])
        self.W_1, self.W_2 = _draw(keys[1], width=width, mlp=mlp)
        self.b_1, self.b_2 = jnp.zeros(mlp), jnp.zeros(width)
        self.dropout = check_probability("dropout", dropout)

    def __check_init__(self):
        check_probability("dropout", self.dropout)

    def __call__(
        self,
        x: Float[Array, "time width"],
        state: Any = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Any]:
        """All outputs, and the attention's state after the last step; arguments as for it."""
        y, state = self.mixer(self.norm(x), state, dt=dt, lengths=lengths, mask=mask)
        return self._perceived(x + y, None), state

    def training(
        self,
        x: Float[Array, "time width"],
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        axes: tuple[str, ...] = ("batch",),
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, "time width"], None]:
        """All outputs with dropout; there are no batch statistics."""
        early, late = jax.random.split(key)
        y, _ = self.mixer(self.norm(x), None, dt=dt, lengths=lengths, mask=mask)
        return self._perceived(x + self._dropped(y, early), late), None

    def step(
        self, x: Float[Array, " width"], state: Any, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Any]:
        """One step, of causal attention."""
        y, state = self.mixer.step(self.norm(x), state, dt)
        return self._perceived(x + y, None), state

    def _perceived(self, x: Array, key: PRNGKeyArray | None) -> Array:
        early, late = (None, None) if key is None else jax.random.split(key)
        W_1, b_1, W_2, b_2 = (p.astype(x.dtype) for p in (self.W_1, self.b_1, self.W_2, self.b_2))
        hidden = self._dropped(jax.nn.gelu(self.second_norm(x) @ W_1.T + b_1), early)
        return x + self._dropped(hidden @ W_2.T + b_2, late)

    def _dropped(self, x: Array, key: PRNGKeyArray | None) -> Array:
        """Single numbers left out."""
        if key is None or self.dropout == 0:
            return x
        keep = jax.random.bernoulli(key, 1 - self.dropout, x.shape)
        return jnp.where(keep, x / (1 - self.dropout), 0.0).astype(x.dtype)


@functools.partial(jax.jit, static_argnames=("width", "mlp"))
def _draw(key: PRNGKeyArray, *, width: int, mlp: int) -> tuple[Array, Array]:
    """Both layers of the perceptron, by Xavier's uniform numbers."""
    keys = jax.random.split(key)
    xavier = jax.nn.initializers.xavier_uniform()
    return xavier(keys[0], (mlp, width)), xavier(keys[1], (width, mlp))
