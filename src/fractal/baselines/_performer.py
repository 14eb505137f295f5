"""Performer: linear-time attention with positive features (Choromanski et al., 2021)."""

from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_flag
from .._engine.inputs import check_key, compiled_call, compiled_step
from ..nn import role
from ._attention import (
    attention_inputs,
    attention_step,
    check_causal_attention,
    init_projections,
    merge_heads,
)
from ._features import favor, favor_exponents, orthogonal_rows

FEATURES = ("favor", "relu")
_CHUNK = 64
_RELU_FLOOR = 1e-3  # added to every ReLU feature
_SMALLEST_TOTAL = 1e-6
_LOG_ZERO = -1e30  # log scale before the first key; −∞ would give NaN


class PerformerState(NamedTuple):
    """Σ φ(k) (v, 1)ᵀ per head, and the logarithm of its scale."""

    sums: Float[Array, "*heads features size_1"]
    scale: Float[Array, "*heads"]


class Performer(eqx.Module):
    """φ(q)·Σ φ(k) v / φ(q)·Σ φ(k): attention whose weights are products of positive features.

    - `"favor"` (FAVOR+): φ(x) = (exp(W z − |z|²/2 − c) + ε)/√m for z = x/d^¼, with orthogonal rows
      of W. Products of features are unbiased estimates of exp(q·k/√d). The stabilizer c, the
      maximum exponent of a query or of all keys (of the previous keys if causal), cancels.
    - `"relu"`: φ(x) = max(x, 0) + ε, without W.

    W is sampled at initialization and stored with the model. It is not trained (role `"buffer"`).

    >>> import jax
    >>> from fractal.baselines import Performer
    >>> performer = Performer(width=8, heads=2, count=64, key=jax.random.key(0))
    >>> y, _ = performer(jax.numpy.ones((100, 8)))
    >>> y.shape
    (100, 8)
    """

    projections: Float[Array, "3 heads size width"]
    out: Float[Array, "width heads size"]
    random_features: Float[Array, "features size"] | None = eqx.field(metadata=role("buffer"))
    causal: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        *,
        heads: SupportsIndex = 4,
        qkv: SupportsIndex | None = None,
        causal: bool = False,
        features: str = "favor",
        count: SupportsIndex = 256,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `heads`: number of heads.
        - `qkv`: total width of queries, keys and values of all heads; `width` by default.
        - `causal`: whether a step attends only to itself and to earlier steps.
        - `features`: `"favor"` or `"relu"`.
        - `count`: number m of random features for `"favor"`.
        """
        check_choice("features", features, FEATURES)
        count = check_count("count", count, smallest=1)
        keys = jax.random.split(check_key(key))
        self.projections, self.out = init_projections(keys[0], width, heads, qkv)
        size = self.out.shape[-1]
        self.random_features = (
            orthogonal_rows(keys[1], count, size) if features == "favor" else None
        )
        self.causal = check_flag("causal", causal)

    @property
    def bidirectional(self) -> bool:
        """Whether an output depends on later inputs."""
        return not self.causal

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: PerformerState | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], PerformerState | None]:
        """Outputs, and the sums over all keys (None unless causal).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: state to resume from; `initial_state()` by default.
        - `dt`: must be None: attention has no step size.
        - `lengths`: number of real steps; later steps are padding, to which no step attends.
        - `mask`: boolean, False at padding.
        """
        u, kept, (queries, keys, values) = attention_inputs(
            self.projections, self.causal, u, state, dt, lengths, mask
        )
        # An additional value of one: its weighted sum is the sum of the weights.
        values = jnp.concatenate([values, jnp.ones_like(values[..., :1])], axis=-1)
        after = None
        if not self.causal:
            y = jax.vmap(self._noncausal, in_axes=(0, 0, 0, None))(queries, keys, values, kept)
        elif len(u):
            start = self.initial_state() if state is None else state
            y, after = jax.vmap(self._causal, in_axes=(0, 0, 0, None, 0))(
                queries, keys, values, kept, start
            )
        else:
            y, after = values, state
        return merge_heads(self.out, _ratio(y), u), after

    @compiled_step
    def step(
        self, u: ArrayLike, state: PerformerState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], PerformerState]:
        """Output (width,) for one sample u (width,), and the next state."""
        return attention_step(self, len(self.out), u, state, dt)

    def initial_state(self) -> PerformerState:
        """Empty sums, before the first key."""
        check_causal_attention(self.causal)
        _, heads, size = self.out.shape
        count = size if self.random_features is None else len(self.random_features)
        sums = jnp.zeros((heads, count, size + 1), self.out.dtype)
        return PerformerState(sums, jnp.full(heads, _LOG_ZERO, sums.dtype))

    def _noncausal(
        self,
        queries: Float[Array, "time size"],
        keys: Float[Array, "time size"],
        values: Float[Array, "time size_1"],
        kept: Bool[Array, " time"],
    ) -> Float[Array, "time size_1"]:
        """φ(q)·Σ φ(k) v of one head."""
        phi, _ = self._key_features(keys, kept, None)
        return self._query_features(queries) @ (phi.T @ values)

    def _causal(
        self,
        queries: Float[Array, "time size"],
        keys: Float[Array, "time size"],
        values: Float[Array, "time size_1"],
        kept: Bool[Array, " time"],
        start: PerformerState,
    ) -> tuple[Float[Array, "time size_1"], PerformerState]:
        """φ(q_t)·Σ φ(k_s) v_s over s ≤ t, of one head."""
        phi, scales = self._key_features(keys, kept, start.scale)
        return causal_sums(self._query_features(queries), phi, scales, values, start)

    def _query_features(self, queries: Float[Array, "time size"]) -> Float[Array, "time features"]:
        if self.random_features is None:
            return jax.nn.relu(queries) + _RELU_FLOOR
        exponents = favor_exponents(self.random_features, queries)
        return favor(exponents, exponents.max(axis=-1))

    def _key_features(
        self,
        keys: Float[Array, "time size"],
        kept: Bool[Array, " time"],
        before: Float[Array, ""] | None,
    ) -> tuple[Float[Array, "time features"], Float[Array, " time"]]:
        """φ(k), zero at padding, and the logarithms of their scales.

        The scale is the maximum over all keys or, given the scale `before` the sequence, over the
        keys up to each step. Then no output depends on later keys, not even by rounding.
        """
        if self.random_features is None:
            phi, scales = jax.nn.relu(keys) + _RELU_FLOOR, jnp.zeros(len(keys), keys.dtype)
        else:
            exponents = jnp.where(
                kept[:, None], favor_exponents(self.random_features, keys), -jnp.inf
            )
            largest = jnp.maximum(exponents.max(axis=-1), _LOG_ZERO)
            if before is None:
                scales = jnp.broadcast_to(largest.max(initial=_LOG_ZERO), largest.shape)
            else:
                scales = jnp.maximum(jax.lax.cummax(largest), before)
            scales = jax.lax.stop_gradient(scales)
            phi = favor(exponents, scales)
        return jnp.where(kept[:, None], phi, 0.0), scales


def causal_sums(
    queries: Float[Array, "time features"],
    keys: Float[Array, "time features"],
    scales: Float[Array, " time"],
    values: Float[Array, "time size_1"],
    start: PerformerState,
) -> tuple[Float[Array, "time size_1"], PerformerState]:
    """Σ_{s≤t} φ(q_t)·φ(k_s) e^{c_s − c_t} v_s: weights within a chunk, sums over earlier chunks.

    Scales do not decrease, so that no factor exceeds one.
    """
    length = len(queries)
    size = min(_CHUNK, length)

    def chunked(x, mode="constant"):
        padded = jnp.pad(x, ((0, -length % size), *[(0, 0)] * (x.ndim - 1)), mode=mode)
        return padded.reshape(-1, size, *x.shape[1:])

    @jax.checkpoint
    def chunk(state, now):
        q, k, c, v = now
        fade = jnp.where(np.tri(size, dtype=bool), c[None] - c[:, None], -jnp.inf)
        y = (q @ k.T * jnp.exp(fade)) @ v + jnp.exp(state.scale - c)[:, None] * (q @ state.sums)
        added = (k * jnp.exp(c - c[-1])[:, None]).T @ v
        return PerformerState(jnp.exp(state.scale - c[-1]) * state.sums + added, c[-1]), y

    inputs = chunked(queries), chunked(keys), chunked(scales, "edge"), chunked(values)
    state, y = jax.lax.scan(chunk, start, inputs)
    return y.reshape(-1, y.shape[-1])[:length], state


def _ratio(y: Float[Array, "heads time size_1"]) -> Float[Array, "heads time size"]:
    """Weighted sums divided by the sum of weights, which is bounded away from zero."""
    total = y[..., -1:]
    small = jnp.abs(total) <= _SMALLEST_TOTAL
    return y[..., :-1] / jnp.where(small, total + 2 * _SMALLEST_TOTAL, total)
