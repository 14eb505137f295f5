"""Training of the network of a forecaster, with early stopping."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax

from .._signals import stop_signals
from ._forecast_data import BATCH, Segments, spaced_batches
from ._forecast_network import ForecastNetwork, Objective, evaluate, train_step
from ._training_loop import shown, was_interrupted

_VALIDATION_BATCHES = 8
_EVERY = 25  # train steps between evaluations
_PATIENCE = 6  # evaluations without an improvement
# With learning rate 1: the rate is an input of the compiled step, which serves all settings.
_OPTIMIZER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1.0))


class TrainedNetwork(NamedTuple):
    """The best network, the step it is from, and how much of its correction of the mean to use."""

    network: ForecastNetwork
    step: int
    share: float
    history: list[dict[str, float]]


def train_network(
    network: ForecastNetwork,
    parts: Segments,
    held: Segments,
    objective: Objective,
    *,
    lr: float,
    steps: int,
    seed: int,
    verbose: bool,
) -> TrainedNetwork:
    """AdamW until the loss on the segments `held` no longer falls; Ctrl-C ends it earlier."""
    rng, key = np.random.default_rng(seed), jax.random.key(seed)
    opt_state = _OPTIMIZER.init(eqx.filter(network, eqx.is_inexact_array))
    batches = list(spaced_batches(held, _VALIDATION_BATCHES))
    loss, share = _evaluated(network, batches, objective)
    best = TrainedNetwork(network, 0, share, [{"step": 0, "validation_loss": loss}])
    lowest, waited, losses = loss, 0, []
    with stop_signals() as signals:
        for step in shown(range(1, steps + 1), "train steps", verbose):
            batch = parts.batch(rng.integers(0, len(parts.ends), BATCH), rng)
            rate = np.float32(lr * 0.5 * (1 + math.cos(math.pi * (step - 1) / steps)))
            key_of_step = jax.random.fold_in(key, step)
            network, opt_state, value = train_step(
                network, opt_state, batch, key_of_step, objective, _OPTIMIZER, rate
            )
            losses.append(value)
            if step % _EVERY and step < steps and not signals:
                continue
            loss, share = _evaluated(network, batches, objective)
            mean = float(np.mean([float(x) for x in losses]))
            best.history.append({"step": step, "loss": mean, "validation_loss": loss})
            losses, waited = [], waited + 1
            if loss < lowest:
                best = TrainedNetwork(network, step, share, best.history)
                lowest, waited = loss, 0
            if waited == _PATIENCE or signals:
                break
    was_interrupted(signals, f"step {best.history[-1]['step']:.0f}", frames=5)
    return best


def _evaluated(
    network: ForecastNetwork, batches: Sequence[Any], objective: Objective
) -> tuple[float, float]:
    """The loss, and the share of the network's correction of the mean that is best."""
    sums = np.sum([[float(x) for x in evaluate(network, one, objective)] for one in batches], 0)
    squared, pinball, count, helpful, size = sums.tolist()
    share = min(max(helpful / size, 0.0), 1.0) if size > 0 else 1.0
    # The squares of e − share·c, from those of e − c.
    squared += 2 * (1 - share) * helpful - (1 - share**2) * size
    count = max(count, 1.0)
    loss = squared / count / objective.squared + pinball / count / objective.pinball
    return float(loss), share
