"""The pre-norm Transformer block: attention and a two-layer perceptron."""

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
    """x + attention(norm(x)), then x + mlp(norm(x)), for one sequence.

    Attention is invariant to the order of steps; `SequenceModel(positions=…)` adds position
    embeddings.

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
        - `attention`: called as `attention(width, key=key)`: `Attention` or `Performer`. Set
          options by `functools.partial(Attention, heads=8, causal=True)`.
        - `mlp`: hidden width of the perceptron; `4 * width` by default.
        - `dropout`: probability of dropping an element during training.
        """
        width = check_count("width", width, smallest=1)
        mlp = 4 * width if mlp is None else check_count("mlp", mlp, smallest=1)
        if not callable(attention):
            raise ValueError(f"attention must be callable, got {attention!r}")
        keys = jax.random.split(check_key(key))
        self.norm, self.second_norm = LayerNorm(width), LayerNorm(width)
        self.mixer = attention(width, key=keys[0])
        self.W_1, self.W_2 = _init_parameters(keys[1], width=width, mlp=mlp)
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
        """Outputs, and the state of the attention. Arguments: see `Attention`."""
        y, state = self.mixer(self.norm(x), state, dt=dt, lengths=lengths, mask=mask)
        return self._mlp_residual(x + y, None), state

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
        """Outputs with dropout; the second value is None (no batch statistics)."""
        early, late = jax.random.split(key)
        y, _ = self.mixer(self.norm(x), None, dt=dt, lengths=lengths, mask=mask)
        return self._mlp_residual(x + self._apply_dropout(y, early), late), None

    def step(
        self, x: Float[Array, " width"], state: Any, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Any]:
        """Output for one sample (width,), and the next state. Requires causal attention."""
        y, state = self.mixer.step(self.norm(x), state, dt)
        return self._mlp_residual(x + y, None), state

    def _mlp_residual(self, x: Array, key: PRNGKeyArray | None) -> Array:
        """x + mlp(norm(x)), with dropout if a key is given."""
        early, late = (None, None) if key is None else jax.random.split(key)
        W_1, b_1, W_2, b_2 = (p.astype(x.dtype) for p in (self.W_1, self.b_1, self.W_2, self.b_2))
        b_1, b_2 = (jax.lax.broadcast_to_rank(bias, x.ndim) for bias in (b_1, b_2))
        hidden = self._apply_dropout(jax.nn.gelu(self.second_norm(x) @ W_1.T + b_1), early)
        return x + self._apply_dropout(hidden @ W_2.T + b_2, late)

    def _apply_dropout(self, x: Array, key: PRNGKeyArray | None) -> Array:
        """Drop single elements."""
        if key is None or self.dropout == 0:
            return x
        keep = jax.random.bernoulli(key, 1 - self.dropout, x.shape)
        return jnp.where(keep, x / (1 - self.dropout), 0.0).astype(x.dtype)


@functools.partial(jax.jit, static_argnames=("width", "mlp"))
def _init_parameters(key: PRNGKeyArray, *, width: int, mlp: int) -> tuple[Array, Array]:
    """Weights of both layers of the perceptron, by Xavier uniform initialization."""
    keys = jax.random.split(key)
    xavier = jax.nn.initializers.xavier_uniform()
    return xavier(keys[0], (mlp, width)), xavier(keys[1], (width, mlp))
