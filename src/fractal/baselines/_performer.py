"""Performer: attention through positive features, in linear time (Choromanski et al., 2021)."""

from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_flag
from .._engine.inputs import (
    check_key,
    check_padding,
    check_sample,
    check_sequence,
    compiled_call,
    compiled_step,
    without_padding,
)
from ..nn import role
from ._attention import check_attends_back, check_no_dt, draw_heads, gather, project
from ._features import favor, favor_exponents, orthogonal_rows

FEATURES = ("favor", "relu")
_CHUNK = 64
_RELU_FLOOR = 1e-3  # added to every ReLU feature
_SMALLEST_TOTAL = 1e-6
_NOTHING = -1e30  # the logarithm of the scale before the first key; infinity would give NaN


class PerformerState(NamedTuple):
    """Σ φ(k) (v, 1)ᵀ of each head, and the logarithm of its scale."""

    sums: Float[Array, "*heads features size_1"]
    scale: Float[Array, "*heads"]


class Performer(eqx.Module):
    """φ(q)·Σ φ(k) v / φ(q)·Σ φ(k): attention whose weights are products of positive features.

    - `"favor"`, FAVOR+: φ(x) = (exp(W x − |x|²/2 − c) + ε)/√m of x/d^¼, with orthogonal rows W,
      whose products estimate exp(q·k/√d) without bias. The stabilizer c, the largest exponent of
      a query or of all keys (so far, if causal), cancels.
    - `"relu"`: φ(x) = max(x, 0) + ε, without W.

    W is drawn once, from the key, and kept with the model. It is not trained: no gradient reaches
    it, and weight decay must be kept off it.

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
        - `qkv`: width of queries, keys and values of all heads together; by default `width`.
        - `causal`: whether a step sees only itself and what was before.
        - `features`: `"favor"` or `"relu"`.
        - `count`: m, number of random features, for `"favor"`.
        """
        check_choice("features", features, FEATURES)
        count = check_count("count", count, smallest=1)
        keys = jax.random.split(check_key(key))
        self.projections, self.out = draw_heads(keys[0], width, heads, qkv)
        size = self.out.shape[-1]
        self.random_features = (
            orthogonal_rows(keys[1], count, size) if features == "favor" else None
        )
        self.causal = check_flag("causal", causal)

    @property
    def bidirectional(self) -> bool:
        """Whether a step sees what comes after."""
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
        """All outputs, and the sums over all keys (None unless causal).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: the state to resume from; `initial_state()` by default.
        - `dt`: must be None: attention knows no time step.
        - `lengths`: number of real steps; the rest is padding, which no step attends to.
        - `mask`: boolean, False at padding.
        """
        check_no_dt(dt)
        u = check_sequence(u, len(self.out))
        padded = check_padding(lengths, mask, len(u)).kept
        if state is not None:
            check_attends_back(self.causal)
        kept = jnp.ones(len(u), bool) if padded is None else padded
        queries, keys, values = project(self.projections, without_padding(u, padded))
        # A value of one beside the others: its weighted sum is the sum of weights.
        values = jnp.concatenate([values, jnp.ones_like(values[..., :1])], axis=-1)
        after = None
        if not self.causal:
            y = jax.vmap(self._whole, in_axes=(0, 0, 0, None))(queries, keys, values, kept)
        elif len(u):
            start = self.initial_state() if state is None else state
            y, after = jax.vmap(self._causal, in_axes=(0, 0, 0, None, 0))(
                queries, keys, values, kept, start
            )
        else:
            y, after = values, state
        return gather(self.out, _ratio(y), u), after

    @compiled_step
    def step(
        self, u: ArrayLike, state: PerformerState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], PerformerState]:
        """One step; u is of shape (width,)."""
        check_attends_back(self.causal)
        y, after = self(check_sample(u, len(self.out))[None], state, dt)
        assert after is not None  # causal attention has a state
        return y[0], after

    def initial_state(self) -> PerformerState:
        """No keys and values."""
        check_attends_back(self.causal)
        _, heads, size = self.out.shape
        count = size if self.random_features is None else len(self.random_features)
        sums = jnp.zeros((heads, count, size + 1), self.out.dtype)
        return PerformerState(sums, jnp.full(heads, _NOTHING, sums.dtype))

    def _whole(
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
        """φ(k), zero where there is padding, and the logarithms of their scales.

        The scale is that of all keys or, going on from the one `before`, of all keys so far: no
        step then sees a later one, not even in its rounding.
        """
        if self.random_features is None:
            phi, scales = jax.nn.relu(keys) + _RELU_FLOOR, jnp.zeros(len(keys), keys.dtype)
        else:
            exponents = jnp.where(
                kept[:, None], favor_exponents(self.random_features, keys), -jnp.inf
            )
            largest = jnp.maximum(exponents.max(axis=-1), _NOTHING)
            if before is None:
                scales = jnp.broadcast_to(largest.max(initial=_NOTHING), largest.shape)
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
    """Σ_{s≤t} φ(q_t)·φ(k_s) e^{c_s − c_t} v_s: by weights within chunks, by sums before them.

    Scales only grow, so that no factor exceeds one.
    """
    length = len(queries)
    size = min(_CHUNK, length)

    def chunked(x, mode="constant"):
        padded = jnp.pad(x, ((0, -length % size), *[(0, 0)] * (x.ndim - 1)), mode=mode)
        return padded.reshape(-1, size, *x.shape[1:])

    @jax.checkpoint
    def chunk(state, now):
        q, k, c, v = now
        fade = jnp.where(np.tri(size, dtype=bool), c - c[:, None], -jnp.inf)
        y = (q @ k.T * jnp.exp(fade)) @ v + jnp.exp(state.scale - c)[:, None] * (q @ state.sums)
        added = (k * jnp.exp(c - c[-1])[:, None]).T @ v
        return PerformerState(jnp.exp(state.scale - c[-1]) * state.sums + added, c[-1]), y

    inputs = chunked(queries), chunked(keys), chunked(scales, "edge"), chunked(values)
    state, y = jax.lax.scan(chunk, start, inputs)
    return y.reshape(-1, y.shape[-1])[:length], state


def _ratio(y: Float[Array, "heads time size_1"]) -> Float[Array, "heads time size"]:
    """Weighted sums over the sum of weights, kept away from zero."""
    total = y[..., -1:]
    return y[..., :-1] / (total + 2 * _SMALLEST_TOTAL * (jnp.abs(total) <= _SMALLEST_TOTAL))
