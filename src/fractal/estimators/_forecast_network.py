"""The nonlinear part of a forecast: a causal network that corrects the linear part at every step.

Values are in units of the standard deviation of the last values, so that series of any amplitude
share one network. Its head starts at zero: before training the forecast is that of the linear part,
with the quantiles of its errors.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..nn import Block, FractalSSM, LayerNorm

VALUE_INPUTS = 3  # relative to the local mean, to the value before, and whether it is observed
CHUNK = 512  # steps per compiled call
_LARGEST_LOG = 3.0  # of the change of a quantile's distance


class SegmentBatch(NamedTuple):
    """Segments, and origins in them, with errors of the linear part in units of `scale`.

    - `places`: last known step of each origin, within its segment.
    - `weights`: unit of the errors relative to the deviation of the whole series.
    - `known`: False at missing values.
    """

    inputs: Float[Array, "batch time inputs"]
    places: Int[Array, "batch origins"]
    errors: Float[Array, "batch origins horizon"]
    known: Float[Array, "batch origins horizon"]
    weights: Float[Array, "batch origins"]


class ForecastNetwork(eqx.Module):
    """Encoder, blocks, and a linear head for all horizons: corrections of point and quantiles."""

    encoder: eqx.nn.Linear
    blocks: tuple[Block, ...]
    norm: LayerNorm
    head: eqx.nn.Linear
    horizon: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        horizon: int,
        quantiles: int,
        *,
        width: int,
        depth: int,
        order: int,
        length: int,
        period: Any,
        dropout: float,
        key: PRNGKeyArray,
    ):
        keys = jax.random.split(key, 2 * depth + 2)
        mixer = functools.partial(FractalSSM, order=order, length=max(length, 5), period=period)
        self.encoder = eqx.nn.Linear(inputs, width, key=keys[0])
        self.blocks = tuple(
            Block(mixer(width, key=one), width, dropout=dropout, key=two)
            for one, two in zip(keys[2::2], keys[3::2], strict=True)
        )
        self.norm = LayerNorm(width)
        head = eqx.nn.Linear(width, horizon * (1 + quantiles), key=keys[1])
        self.head = jax.tree.map(jnp.zeros_like, head)
        self.horizon = horizon

    def __call__(
        self, x: Float[Array, "time inputs"], states: Any, length: Int[Array, ""]
    ) -> tuple[Float[Array, "time width"], Any]:
        """Features of every step, and the states after `length` steps."""
        h, after = jax.vmap(self.encoder)(x), []
        for block, state in zip(self.blocks, states, strict=True):
            h, state = block(h, state, lengths=length)
            after.append(state)
        return self.norm(h), tuple(after)

    def training(
        self, x: Float[Array, "time inputs"], *, key: PRNGKeyArray
    ) -> Float[Array, "time width"]:
        """Features during training."""
        h = jax.vmap(self.encoder)(x)
        for index, block in enumerate(self.blocks):
            h, _ = block.training(h, key=jax.random.fold_in(key, index))
        return self.norm(h)

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.norm.weight)

    def initial_states(self) -> Any:
        return tuple(block.mixer.initial_state() for block in self.blocks)

    def corrections(self, features: Float[Array, "*axes width"]) -> Float[Array, "*axes h outputs"]:
        """Of the point, and of each quantile, per step of the horizon."""
        assert self.head.bias is not None
        found = features @ self.head.weight.T
        found += jnp.broadcast_to(self.head.bias, found.shape)
        return found.reshape(*features.shape[:-1], self.horizon, -1)


def corrected_quantiles(corrections: Any, start: Any, anchor: int, xp: Any = jnp) -> Any:
    """Quantiles of the linear part's error that never cross, (…, horizon, quantiles).

    `start`, (horizon, quantiles), are those without a network. The quantile `anchor` moves freely;
    distances between neighbors are multiplied by positive factors.
    """
    start = xp.broadcast_to(start, corrections.shape)
    factors = xp.exp(xp.clip(corrections, -_LARGEST_LOG, _LARGEST_LOG))
    middle = start[..., anchor] + corrections[..., anchor]
    gaps = xp.maximum(start[..., 1:] - start[..., :-1], 0.0)
    found = [middle]
    for index in range(anchor + 1, start.shape[-1]):
        found.append(found[-1] + gaps[..., index - 1] * factors[..., index])
    for index in range(anchor - 1, -1, -1):
        found.insert(0, found[0] - gaps[..., index] * factors[..., index])
    return xp.stack(found, axis=-1)


def _pinball(errors: Array, quantiles: Array, levels: Array) -> Array:
    difference = errors[..., None] - quantiles
    levels = jnp.broadcast_to(levels, difference.shape)
    return jnp.maximum(levels * difference, (levels - 1) * difference)


def losses(
    corrections: Array, batch: SegmentBatch, start: Array, levels: Array, anchor: int
) -> tuple[Array, Array, Array]:
    """Sums of squared errors and of pinball losses, and the number of values."""
    point = (batch.errors - corrections[..., 0]) * batch.weights[..., None]
    quantiles = corrected_quantiles(corrections[..., 1:], start, anchor)
    pinball = _pinball(batch.errors, quantiles, levels) * batch.weights[..., None, None]
    count = batch.known.sum()
    return (
        (jnp.square(point) * batch.known).sum(),
        (pinball.mean(axis=-1) * batch.known).sum(),
        count,
    )


class Objective(NamedTuple):
    """What is minimized: both losses relative to those of the linear part alone."""

    start: Float[Array, "horizon quantiles"]
    levels: Float[Array, " quantiles"]
    anchor: int
    squared: Float[Array, ""]
    pinball: Float[Array, ""]


def _taken(features: Array, places: Array) -> Array:
    return jnp.take_along_axis(features, places[..., None], axis=1)


@eqx.filter_jit
def train_step(
    network: ForecastNetwork, opt_state: Any, batch: SegmentBatch, key: PRNGKeyArray,
    objective: Any, optimizer: Any, lr: ArrayLike,
) -> tuple[ForecastNetwork, Any, Array]:  # fmt: skip
    """One step of the optimizer, whose updates are multiplied by `lr`, and the loss before it."""

    @eqx.filter_value_and_grad
    def loss(network):
        keys = jax.random.split(key, len(batch.inputs))
        features = jax.vmap(lambda x, key: network.training(x, key=key))(batch.inputs, keys)
        found = network.corrections(_taken(features, batch.places))
        squared, pinball, count = losses(
            found, batch, objective.start, objective.levels, objective.anchor
        )
        count = jnp.maximum(count, 1)  # all values may be missing
        return (squared / objective.squared + pinball / objective.pinball) / count

    value, gradient = loss(network)
    with jax.numpy_dtype_promotion("standard"):  # optax computes decay**step, step an integer
        updates, opt_state = optimizer.update(
            gradient, opt_state, eqx.filter(network, eqx.is_inexact_array)
        )
    updates = jax.tree.map(lambda update: lr * update, updates)
    return eqx.apply_updates(network, updates), opt_state, value


@eqx.filter_jit
def evaluate(network: ForecastNetwork, batch: SegmentBatch, objective: Any) -> tuple[Array, ...]:
    """Both losses, the number of values, and the products that tell how much to correct."""
    states = network.initial_states()
    length = jnp.asarray(batch.inputs.shape[1])
    features = jax.vmap(lambda x: network(x, states, length)[0])(batch.inputs)
    found = network.corrections(_taken(features, batch.places))
    sums = losses(found, batch, objective.start, objective.levels, objective.anchor)
    weight = batch.known * jnp.square(batch.weights)[..., None]
    helpful = (found[..., 0] * batch.errors * weight).sum()
    return (*sums, helpful, (jnp.square(found[..., 0]) * weight).sum())


@eqx.filter_jit
def _advance(network: ForecastNetwork, x: Array, states: Any, lengths: Array) -> tuple[Array, Any]:
    return jax.vmap(network)(x, states, lengths)


def advance(
    network: ForecastNetwork,
    x: Float[np.ndarray, "rows time inputs"],
    states: Any,
    lengths: np.ndarray,
) -> Iterator[tuple[Float[np.ndarray, "rows chunk width"], Any]]:
    """Features of the next steps, and the states after them, in calls of one compiled size."""
    rows, time = x.shape[:2]
    for start in range(0, time, CHUNK):
        part = np.zeros((rows, CHUNK, x.shape[2]), np.float32)
        piece = x[:, start : start + CHUNK]
        part[:, : piece.shape[1]] = piece
        left = jnp.asarray(np.clip(lengths - start, 0, CHUNK))
        features, states = _advance(network, jnp.asarray(part), states, left)
        yield np.asarray(features)[:, : piece.shape[1]], states


def initial_states(network: ForecastNetwork, rows: int) -> Any:
    """The states of `rows` streams before their first steps."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (rows, *x.shape)), network.initial_states())


def middle(levels: Sequence[float]) -> int:
    """The quantile that is nearest to the median."""
    return int(np.argmin(np.abs(np.asarray(levels) - 0.5)))
