"""Performer: attention through positive features, in linear time (Choromanski et al., 2021)."""

import functools
from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..nn._inputs import check_mask, check_sample, check_sequence, without_padding
from ..theory._arguments import check_choice, check_count
from ._attention import check_attends_back, check_no_dt, draw_heads, gather, project

FEATURES = ("favor", "relu")
_CHUNK = 64
_FAVOR_FLOOR, _RELU_FLOOR = 1e-6, 1e-3  # what is added to every feature
_SMALLEST_TOTAL = 1e-6
_NOTHING = -1e30  # the logarithm of the scale before the first key; infinity would give NaN


class PerformerState(NamedTuple):
    """Σ φ(k) (v, 1)ᵀ of each head, and the logarithm of its scale."""

    sums: Float[Array, "heads features size_1"]
    scale: Float[Array, " heads"]


class Performer(eqx.Module):
    """φ(q)·Σ φ(k) v / φ(q)·Σ φ(k): attention whose weights are products of positive features.

    - `"favor"`, FAVOR+: φ(x) = (exp(W x − |x|²/2 − c) + ε)/√m of x/d^¼, with orthogonal rows W,
      whose products estimate exp(q·k/√d) without bias. The stabiliser c, the largest exponent of
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
    W: Float[Array, "features size"] | None
    causal: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        heads: SupportsIndex = 4,
        qkv: SupportsIndex | None = None,
        causal: bool = False,
        features: str = "favor",
        count: SupportsIndex = 256,
        *,
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
        keys = jax.random.split(key)
        self.projections, self.out = draw_heads(keys[0], width, heads, qkv)
        size = self.out.shape[-1]
        self.W = orthogonal_rows(keys[1], count, size) if features == "favor" else None
        self.causal = causal

    @property
    def bidirectional(self) -> bool:
        """Whether a step sees what comes after."""
        return not self.causal

    @jax.jit
    def __call__(
        self,
        u: ArrayLike,
        state: PerformerState | None = None,
        dt: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], PerformerState | None]:
        """All outputs, and the sums over all keys (None unless causal).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: where to go on from; by default nothing.
        - `dt`: must be None: attention knows no time step.
        - `mask`: False where there is padding, which no step attends to.
        """
        check_no_dt(dt)
        u = check_sequence(u, len(self.out))
        mask = check_mask(mask, len(u))
        if state is not None:
            check_attends_back(self.causal)
        kept = jnp.ones(len(u), bool) if mask is None else mask
        queries, keys, values = project(self.projections, without_padding(u, mask))
        values = jnp.concatenate([values, jnp.ones_like(values[..., :1])], axis=-1)
        if self.causal:
            start = self.initial_state() if state is None else state
            phi, scales = self._key_features(keys, kept, start.scale)
            y, after = _causal(self._query_features(queries), phi, scales, values, start)
        else:
            phi, _ = self._key_features(keys, kept)
            sums = jnp.einsum("thm,thd->hmd", phi, values)
            y, after = jnp.einsum("thm,hmd->thd", self._query_features(queries), sums), None
        return gather(self.out, _ratio(y), u), after

    @jax.jit
    def step(
        self, u: ArrayLike, state: PerformerState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], PerformerState]:
        """One step; u is of shape (width,)."""
        check_attends_back(self.causal)
        y, state = self(check_sample(u, len(self.out))[None], state, dt)
        return y[0], state

    def initial_state(self) -> PerformerState:
        """No keys and values."""
        check_attends_back(self.causal)
        _, heads, size = self.out.shape
        count = size if self.W is None else len(self.W)
        sums = jnp.zeros((heads, count, size + 1), self.out.dtype)
        return PerformerState(sums, jnp.full(heads, _NOTHING, sums.dtype))

    def _query_features(
        self, queries: Float[Array, "time heads size"]
    ) -> Float[Array, "time heads features"]:
        if self.W is None:
            return jax.nn.relu(queries) + _RELU_FLOOR
        exponents = favor_exponents(self.W, queries)
        return _favor(exponents, exponents.max(axis=-1))

    def _key_features(
        self,
        keys: Float[Array, "time heads size"],
        kept: Bool[Array, " time"],
        before: Float[Array, " heads"] | None = None,
    ) -> tuple[Float[Array, "time heads features"], Float[Array, "time heads"]]:
        """φ(k), zero where there is padding, and the logarithms of their scales.

        The scale is that of all keys or, going on from the one `before`, of all keys so far: no
        step then sees a later one, not even in its rounding.
        """
        kept = kept[:, None, None]
        if self.W is None:
            phi, scales = jax.nn.relu(keys) + _RELU_FLOOR, jnp.zeros(keys.shape[:2], keys.dtype)
        else:
            exponents = jnp.where(kept, favor_exponents(self.W, keys), -jnp.inf)
            largest = jnp.maximum(exponents.max(axis=-1), _NOTHING)
            if before is None:
                scales = jnp.broadcast_to(largest.max(axis=0), largest.shape)
            else:
                scales = jnp.maximum(jax.lax.cummax(largest), before)
            scales = jax.lax.stop_gradient(scales)
            phi = _favor(exponents, scales)
        return jnp.where(kept, phi, 0.0), scales


def favor_exponents(
    W: Float[Array, "features size"], x: Float[Array, "*time size"]
) -> Float[Array, "*time features"]:
    """W x − |x|²/2 of x/d^¼, whose exponentials multiply to exp(q·k/√d) in the mean."""
    scaled = x / x.shape[-1] ** 0.25
    square = jnp.sum(scaled**2, axis=-1, keepdims=True)
    return scaled @ jax.lax.stop_gradient(W).T - square / 2


def _favor(
    exponents: Float[Array, "*time features"], stabiliser: Float[Array, "*time"]
) -> Float[Array, "*time features"]:
    """exp(exponent − c) + ε, whose products are a mean over the features."""
    # c cancels in the ratio, and so does its gradient.
    lowered = exponents - jax.lax.stop_gradient(stabiliser)[..., None]
    return (jnp.exp(lowered) + _FAVOR_FLOOR) / np.sqrt(exponents.shape[-1])


def _causal(
    queries: Float[Array, "time heads features"],
    keys: Float[Array, "time heads features"],
    scales: Float[Array, "time heads"],
    values: Float[Array, "time heads size_1"],
    start: PerformerState,
) -> tuple[Float[Array, "time heads size_1"], PerformerState]:
    """Σ_{s≤t} φ(q_t)·φ(k_s) e^{c_s − c_t} v_s: by weights within chunks, by sums before them.

    Scales only grow, so that no factor exceeds one.
    """
    length = len(queries)
    size = max(1, min(_CHUNK, length))

    def chunked(x, mode="constant"):
        padded = jnp.pad(x, ((0, -length % size), *[(0, 0)] * (x.ndim - 1)), mode=mode)
        return padded.reshape(-1, size, *x.shape[1:])

    @jax.checkpoint
    def chunk(state, now):
        q, k, c, v = now
        fade = jnp.where(np.tri(size, dtype=bool)[..., None], c[None] - c[:, None], -jnp.inf)
        weights = jnp.einsum("thm,shm->tsh", q, k) * jnp.exp(fade)
        before = jnp.einsum("thm,hmd->thd", q, state.sums) * jnp.exp(state.scale - c)[..., None]
        y = jnp.einsum("tsh,shd->thd", weights, v) + before
        added = jnp.einsum("shm,shd->hmd", k * jnp.exp(c - c[-1])[..., None], v)
        sums = state.sums * jnp.exp(state.scale - c[-1])[:, None, None] + added
        return PerformerState(sums, c[-1]), y

    if length == 0:
        return values, start
    inputs = chunked(queries), chunked(keys), chunked(scales, "edge"), chunked(values)
    state, y = jax.lax.scan(chunk, start, inputs)
    return y.reshape(-1, *y.shape[2:])[:length], state


def _ratio(y: Float[Array, "time heads size_1"]) -> Float[Array, "time heads size"]:
    """Weighted sums over the sum of weights, kept away from zero."""
    total = y[..., -1:]
    return y[..., :-1] / (total + 2 * _SMALLEST_TOTAL * (jnp.abs(total) <= _SMALLEST_TOTAL))


@functools.partial(jax.jit, static_argnames=("count", "size"))
def orthogonal_rows(key: PRNGKeyArray, count: int, size: int) -> Float[Array, "count size"]:
    """Gaussian rows, orthogonal to each other within blocks of `size`.

    Directions come from QR with the signs put right, or they would not be uniform and the
    estimate not unbiased; lengths are drawn anew, as those of Gaussian vectors.
    """
    keys = jax.random.split(key)
    Q, R = jnp.linalg.qr(jax.random.normal(keys[0], (-(-count // size), size, size)))
    directions = Q * jnp.sign(jnp.diagonal(R, axis1=1, axis2=2))[:, None, :]
    rows = jnp.swapaxes(directions, 1, 2).reshape(-1, size)[:count]
    lengths = jnp.linalg.norm(jax.random.normal(keys[1], (count, size)), axis=1)
    return rows * lengths[:, None]
