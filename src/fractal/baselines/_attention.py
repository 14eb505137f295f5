"""Exact multi-head softmax attention (Vaswani et al., 2017)."""

import functools
import math
from typing import Any, NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .._checks import check_count, check_flag
from .._engine.inputs import (
    check_key,
    check_padding,
    check_sample,
    check_sequence,
    compiled_call,
    compiled_step,
    mask_padding,
)
from ..nn import Mixer

_QUERY_BATCH = 128  # queries per batch: bounds the attention weights to (heads, 128, time)


class AttentionState(NamedTuple):
    """Cache of keys and values; `kept` is False at padding. The time axis grows with every step."""

    keys: Float[Array, "heads time size"]
    values: Float[Array, "heads time size"]
    kept: Bool[Array, " time"]


class Attention(eqx.Module):
    """Multi-head attention: means of the values with weights softmax(q·k/√d).

    Memory is linear in the length: attention weights are computed for a batch of queries at a time,
    and are recomputed in the backward pass.

    >>> import jax
    >>> from fractal.baselines import Attention
    >>> attention = Attention(width=8, heads=2, key=jax.random.key(0))
    >>> y, _ = attention(jax.numpy.ones((100, 8)))
    >>> y.shape
    (100, 8)
    """

    projections: Float[Array, "3 heads size width"]
    out: Float[Array, "width heads size"]
    causal: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        *,
        heads: SupportsIndex = 4,
        qkv: SupportsIndex | None = None,
        causal: bool = False,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `heads`: number of heads.
        - `qkv`: total width of queries, keys and values of all heads; `width` by default.
        - `causal`: whether a step attends only to itself and to earlier steps.
        """
        self.projections, self.out = init_projections(check_key(key), width, heads, qkv)
        self.causal = check_flag("causal", causal)

    @property
    def bidirectional(self) -> bool:
        """Whether an output depends on later inputs."""
        return not self.causal

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: AttentionState | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], AttentionState | None]:
        """Outputs, and the cached keys and values (None unless causal).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: cached keys and values to resume from; empty by default.
        - `dt`: must be None: attention has no step size.
        - `lengths`: number of real steps; later steps are padding, to which no step attends.
        - `mask`: boolean, False at padding.
        """
        u, kept, (queries, keys, values) = attention_inputs(
            self.projections, self.causal, u, state, dt, lengths, mask
        )
        start = self._empty() if state is None else state
        cache = AttentionState(
            jnp.concatenate([start.keys, keys], axis=1),
            jnp.concatenate([start.values, values], axis=1),
            jnp.concatenate([start.kept, kept]),
        )
        positions = jnp.arange(len(u)) + len(start.kept) if self.causal else None
        y = jax.vmap(attend, in_axes=(0, 0, 0, None, None))(
            queries, cache.keys, cache.values, cache.kept, positions
        )
        return merge_heads(self.out, y, u), cache if self.causal else None

    @compiled_step
    def step(
        self, u: ArrayLike, state: AttentionState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], AttentionState]:
        """Output (width,) for one sample u (width,), and the next state.

        The cache grows, so that every step is recompiled.
        """
        return attention_step(self, len(self.out), u, state, dt)

    def initial_state(self) -> AttentionState:
        """An empty cache of keys and values."""
        check_causal_attention(self.causal)
        return self._empty()

    def _empty(self) -> AttentionState:
        _, heads, size = self.out.shape
        none = jnp.zeros((heads, 0, size), self.out.dtype)
        return AttentionState(none, none, jnp.zeros(0, bool))


def attention_inputs(
    projections: Float[Array, "3 heads size width"],
    causal: bool,
    u: ArrayLike,
    state: Any,
    dt: ArrayLike | None,
    lengths: ArrayLike | None,
    mask: ArrayLike | None,
) -> tuple[Float[Array, "time width"], Bool[Array, " time"], Float[Array, "3 heads time size"]]:
    """The checked input, which of its steps are real, and queries, keys and values.

    These are in the dtype of the parameters.
    """
    if dt is not None:
        raise ValueError("dt must be None: attention has no step size")
    u = check_sequence(u, projections.shape[-1])
    padded = check_padding(lengths, mask, len(u)).kept
    if state is not None:
        check_causal_attention(causal)
    signal = mask_padding(u, padded).astype(projections.dtype)
    kept = jnp.ones(len(u), bool) if padded is None else padded
    return u, kept, jnp.einsum("phdw,tw->phtd", projections, signal)


def attention_step(
    attention: Mixer, width: int, u: ArrayLike, state: Any, dt: ArrayLike | None
) -> tuple[Float[Array, " width"], Any]:
    """A step as a call with a sequence of one sample."""
    check_causal_attention(not attention.bidirectional)
    y, after = attention(check_sample(u, width)[None], state, dt)
    return y[0], after


def attend(
    queries: Float[Array, "time size"],
    keys: Float[Array, "all size"],
    values: Float[Array, "all size"],
    kept: Bool[Array, " all"],
    positions: Int[Array, " time"] | None,
) -> Float[Array, "time size"]:
    """Σ softmax(q·k/√d) v of one head, over the kept keys up to the position of each query."""

    @jax.checkpoint
    def mean(query, position):
        logits = keys @ query / math.sqrt(len(query))
        visible = kept if position is None else kept & (jnp.arange(len(kept)) <= position)
        # A finite minimum: weights are uniform, not NaN, if no key is visible.
        weights = jax.nn.softmax(jnp.where(visible, logits, jnp.finfo(logits.dtype).min))
        return weights @ values

    return jax.lax.map(lambda x: mean(*x), (queries, positions), batch_size=_QUERY_BATCH)


def merge_heads(
    out: Float[Array, "width heads size"],
    y: Float[Array, "heads time size"],
    u: Float[Array, "time width"],
) -> Float[Array, "time width"]:
    """Output projection of the concatenated heads, in the dtype of the input u."""
    return jnp.einsum("whd,htd->tw", out, y).astype(u.dtype)


def init_projections(
    key: PRNGKeyArray, width: SupportsIndex, heads: SupportsIndex, qkv: SupportsIndex | None
) -> tuple[Array, Array]:
    """Input projections to queries, keys and values, and the output projection, without biases."""
    width = check_count("width", width, smallest=1)
    heads = check_count("heads", heads, smallest=1)
    qkv = width if qkv is None else check_count("qkv", qkv, smallest=1)
    if qkv % heads:
        raise ValueError(f"qkv must be a multiple of heads = {heads}, got {qkv}")
    return _init_parameters(key, width=width, heads=heads, size=qkv // heads)


@functools.partial(jax.jit, static_argnames=("width", "heads", "size"))
def _init_parameters(
    key: PRNGKeyArray, *, width: int, heads: int, size: int
) -> tuple[Array, Array]:
    """Xavier uniform initialization, of variance 2/(fan_in + fan_out)."""
    keys = jax.random.split(key)
    end = math.sqrt(6 / (width + heads * size))
    return (
        jax.random.uniform(keys[0], (3, heads, size, width), minval=-end, maxval=end),
        jax.random.uniform(keys[1], (width, heads, size), minval=-end, maxval=end),
    )


def check_causal_attention(causal: bool) -> None:
    """Raise `ValueError` if a step or a state is requested of non-causal attention."""
    if not causal:
        raise ValueError("non-causal attention has no step or state: use causal=True")
