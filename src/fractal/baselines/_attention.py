"""Exact softmax attention with several heads (Vaswani et al., 2017)."""

import functools
from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
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
    without_padding,
)

_TOGETHER = 128  # queries at a time: (heads, 128, time) weights are held


class AttentionState(NamedTuple):
    """Keys and values so far, and which of them are no padding; it grows with every step."""

    keys: Float[Array, "heads time size"]
    values: Float[Array, "heads time size"]
    kept: Bool[Array, " time"]


class Attention(eqx.Module):
    """Each step reads a mean of all values, weighted by softmax(q·k/√d).

    Memory grows with the length, not its square: the weights of a few queries at a time are held,
    and are made again in the backward pass.

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
        - `qkv`: width of queries, keys and values of all heads together; by default `width`.
        - `causal`: whether a step sees only itself and what was before.
        """
        self.projections, self.out = draw_heads(check_key(key), width, heads, qkv)
        self.causal = check_flag("causal", causal)

    @property
    def bidirectional(self) -> bool:
        """Whether a step sees what comes after."""
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
        """All outputs, and the keys and values so far (None unless causal).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: keys and values from before; by default none.
        - `dt`: must be None: attention knows no time step.
        - `lengths`: number of real steps; the rest is padding, which no step attends to.
        - `mask`: boolean, False at padding.
        """
        check_no_dt(dt)
        u = check_sequence(u, len(self.out))
        padded = check_padding(lengths, mask, len(u)).kept
        if state is not None:
            check_attends_back(self.causal)
        start = self._empty() if state is None else state
        queries, keys, values = project(self.projections, without_padding(u, padded))
        kept = jnp.ones(len(u), bool) if padded is None else padded
        cache = AttentionState(
            jnp.concatenate([start.keys, keys], axis=1),
            jnp.concatenate([start.values, values], axis=1),
            jnp.concatenate([start.kept, kept]),
        )
        places = jnp.arange(len(u)) + len(start.kept) if self.causal else None
        y = jax.vmap(attend, in_axes=(0, 0, 0, None, None))(
            queries, cache.keys, cache.values, cache.kept, places
        )
        return gather(self.out, y, u), cache if self.causal else None

    @compiled_step
    def step(
        self, u: ArrayLike, state: AttentionState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], AttentionState]:
        """One step; u is (width,). Keys and values grow, so that every step is compiled anew."""
        check_attends_back(self.causal)
        y, after = self(check_sample(u, len(self.out))[None], state, dt)
        assert after is not None  # causal attention has a state
        return y[0], after

    def initial_state(self) -> AttentionState:
        """No keys and values."""
        check_attends_back(self.causal)
        return self._empty()

    def _empty(self) -> AttentionState:
        _, heads, size = self.out.shape
        none = jnp.zeros((heads, 0, size), self.out.dtype)
        return AttentionState(none, none, jnp.zeros(0, bool))


def attend(
    queries: Float[Array, "time size"],
    keys: Float[Array, "all size"],
    values: Float[Array, "all size"],
    kept: Bool[Array, " all"],
    places: Int[Array, " time"] | None,
) -> Float[Array, "time size"]:
    """Σ softmax(q·k/√d) v of one head, over the keys that are kept and no later than the query."""

    @jax.checkpoint
    def mean(query, place):
        logits = keys @ query / np.sqrt(len(query))
        seen = kept if place is None else kept & (jnp.arange(len(kept)) <= place)
        # A finite floor: where nothing is seen, weights are equal and not NaN.
        weights = jax.nn.softmax(jnp.where(seen, logits, jnp.finfo(logits.dtype).min))
        return weights @ values

    return jax.lax.map(lambda x: mean(*x), (queries, places), batch_size=_TOGETHER)


def project(
    projections: Float[Array, "3 heads size width"], u: Float[Array, "time width"]
) -> Float[Array, "3 heads time size"]:
    """Queries, keys and values, in the precision of the parameters."""
    return jnp.einsum("phdw,tw->phtd", projections, u.astype(projections.dtype))


def gather(
    out: Float[Array, "width heads size"],
    y: Float[Array, "heads time size"],
    u: Float[Array, "time width"],
) -> Float[Array, "time width"]:
    """What all heads have read, in the precision of the input."""
    return jnp.einsum("whd,htd->tw", out, y).astype(u.dtype)


def draw_heads(
    key: PRNGKeyArray, width: SupportsIndex, heads: SupportsIndex, qkv: SupportsIndex | None
) -> tuple[Array, Array]:
    """Projections to queries, keys and values, and back, without biases."""
    width = check_count("width", width, smallest=1)
    heads = check_count("heads", heads, smallest=1)
    qkv = width if qkv is None else check_count("qkv", qkv, smallest=1)
    if qkv % heads:
        raise ValueError(f"qkv must be a multiple of heads = {heads}, got {qkv}")
    return _draw(key, width=width, heads=heads, size=qkv // heads)


@functools.partial(jax.jit, static_argnames=("width", "heads", "size"))
def _draw(key: PRNGKeyArray, *, width: int, heads: int, size: int) -> tuple[Array, Array]:
    """Xavier's uniform numbers: of variance 2/(inputs + outputs)."""
    keys = jax.random.split(key)
    end = np.sqrt(6 / (width + heads * size))
    return (
        jax.random.uniform(keys[0], (3, heads, size, width), minval=-end, maxval=end),
        jax.random.uniform(keys[1], (width, heads, size), minval=-end, maxval=end),
    )


def check_no_dt(dt: ArrayLike | None) -> None:
    """Attention sees an order, not a duration."""
    if dt is not None:
        raise ValueError("dt must be None: attention knows no time step")


def check_attends_back(causal: bool) -> None:
    """A step, or a state to go on from, is for causal attention."""
    if not causal:
        raise ValueError("attention to the whole sequence has no step or state: take causal=True")
