"""Training on cases in memory, with early stopping.

`fractal.train.train` is for runs in a folder: tasks by name, checkpoints, a fixed number of steps.
Here the data are arrays with durations and weights, the best weights are kept in memory, and
training stops when the held-out loss no longer decreases. Optimizer and parameter groups are those
of `fractal.train`.
"""

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from sklearn.exceptions import ConvergenceWarning

from .._signals import stop_signals
from ..nn import SequenceModel
from ..train import OptimizerConfig, make_optimizer
from ._padding import PaddedBatch, batches
from ._preparation import CaseInputs
from ._training_loop import shown, was_interrupted

_IMPROVEMENT = 1e-4  # of the held-out loss, at least
# Updates are linear in learning rate and weight decay. With both as inputs of the train step, one
# compiled program serves all values of a search.
_ADAM, _DECAY = (
    make_optimizer(OptimizerConfig(lr=1.0, ssm_lr=1 / 3, weight_decay=decay, clip=clip))
    for decay, clip in ((0.0, 1.0), (1.0, 0.0))
)

Loss = Callable[[Array, Array], Array]
"""Losses (batch,) of outputs (batch, …) and targets (batch, …). It is a function of a module, so
that programs that are compiled for one estimator serve the next."""


class Examples(NamedTuple):
    """Inputs with one target and one weight per case."""

    series: list[CaseInputs]
    targets: np.ndarray
    weights: Float[np.ndarray, " cases"]

    def __len__(self) -> int:
        return len(self.series)

    def take(self, rows: np.ndarray) -> "Examples":
        """The examples of these rows."""
        return Examples([self.series[i] for i in rows], self.targets[rows], self.weights[rows])


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    epochs: int
    batch: int
    patience: int | None  # epochs without improvement of the held-out loss; None: all epochs
    lr: float
    weight_decay: float
    seed: int
    stop: int | None = None  # last epoch, if before the end of the schedule
    decay: bool = True  # warmup, then decay of the learning rate to 0; else it is constant
    verbose: bool = False


class Trained(NamedTuple):
    """The best model, the optimizer state after the last step, and the losses of each epoch."""

    model: SequenceModel
    opt_state: Any
    history: list[dict[str, float]]
    best_epoch: int
    interrupted: bool


def train_model(
    model: SequenceModel,
    loss: Loss,
    train: Examples,
    held_out: Examples | None,
    schedule: Schedule,
    opt_state: Any = None,
) -> Trained:
    """Train a model; with held-out examples, return the weights of its best epoch.

    Ctrl-C ends training after the current step and keeps the best weights so far.
    """
    if opt_state is None:
        opt_state = _ADAM.init(cast(Any, eqx.filter(model, eqx.is_inexact_array)))
    best, best_loss, best_epoch = model, np.inf, 0
    history: list[dict[str, float]] = []
    key = jax.random.key(schedule.seed)
    step, steps = 0, schedule.epochs * len(batches(train.series, schedule.batch))
    last = schedule.epochs if schedule.stop is None else schedule.stop
    with stop_signals() as signals:
        for epoch in shown(range(1, last + 1), "fit", schedule.verbose):
            total = seen = 0.0
            for batch, targets, weights in _shuffled(train, schedule, epoch):
                step += 1
                lr = schedule.lr * (_rate(step, steps) if schedule.decay else 1.0)
                rates = np.float32(lr), np.float32(schedule.weight_decay)
                fixed = (batch, targets, weights, jax.random.fold_in(key, step), rates)
                model, opt_state, value = _train_step(fixed, model, opt_state, loss)
                total += float(value) * float(weights.sum())
                seen += float(weights.sum())
                if signals:
                    break
            entry = {"epoch": epoch, "loss": total / max(seen, 1e-9)}
            if not np.isfinite(total):
                warnings.warn(
                    f"training diverged in epoch {epoch}; the best weights are kept. Lower lr",
                    ConvergenceWarning,
                    stacklevel=4,
                )
                break
            score = entry["loss"]
            if held_out is not None:
                score = entry["validation_loss"] = mean_loss(model, loss, held_out, schedule.batch)
            history.append(entry)
            # Without held-out examples the last weights are the best.
            if held_out is None or score < best_loss - _IMPROVEMENT:
                best, best_loss, best_epoch = model, score, epoch
            if signals or (schedule.patience and epoch - best_epoch >= schedule.patience):
                break
    interrupted = was_interrupted(signals, f"epoch {len(history)}", frames=4)
    return Trained(best, opt_state, history, best_epoch, interrupted)


def _rate(step: int, steps: int) -> float:
    """Factor of the learning rate: a short linear warmup, then a cosine to 0 at the last step."""
    warmup = max(1, min(steps // 10, 50))
    if step <= warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(steps - warmup + 1, 1)))


def _shuffled(train: Examples, schedule: Schedule, epoch: int):
    """The batches of an epoch with targets and weights; a function of seed and epoch alone."""
    rng = np.random.default_rng([schedule.seed, epoch])
    made = batches(train.series, schedule.batch, rng.permutation(len(train)))
    for number in rng.permutation(len(made)):
        yield _with_targets(made[number], train)


def _with_targets(batch: PaddedBatch, examples: Examples) -> tuple[Any, np.ndarray, np.ndarray]:
    size = len(batch.lengths)
    targets = np.zeros((size, *examples.targets.shape[1:]), examples.targets.dtype)
    weights = np.zeros(size, np.float32)
    targets[: len(batch.rows)] = examples.targets[batch.rows]
    weights[: len(batch.rows)] = examples.weights[batch.rows]
    return batch[:3], targets, weights


@functools.partial(eqx.filter_jit, donate="none")
def _train_step(fixed, model, opt_state, loss):
    (values, dt, lengths), targets, weights, key, (lr, weight_decay) = fixed

    def objective(trained, rest):
        whole = eqx.combine(trained, rest)
        keys = jax.random.split(key, len(values))
        outputs, statistics = jax.vmap(
            lambda x, dt, length, key: whole.training(x, dt=dt, lengths=length, key=key),
            axis_name="batch",
            out_axes=(0, None),
        )(values, dt, lengths, keys)
        mean = (loss(outputs, targets) * weights).sum() / jnp.maximum(weights.sum(), 1e-9)
        return mean, statistics

    trained, rest = eqx.partition(model, eqx.is_inexact_array)
    (value, statistics), gradient = jax.value_and_grad(objective, has_aux=True)(trained, rest)
    with jax.numpy_dtype_promotion("standard"):  # optax computes decay**step, step an integer
        updates, opt_state = _ADAM.update(gradient, opt_state, trained)
        zeros = jax.tree.map(jnp.zeros_like, trained)
        decays, _ = _DECAY.update(zeros, _DECAY.init(trained), trained)
    updates = jax.tree.map(lambda u, decay: lr * (u + weight_decay * decay), updates, decays)
    stepped: Any = eqx.combine(optax.apply_updates(trained, updates), rest)
    return stepped.with_statistics(statistics), opt_state, value


@eqx.filter_jit
def _outputs(model, values, dt, lengths):
    return jax.vmap(lambda x, dt, length: model(x, dt=dt, lengths=length))(values, dt, lengths)


def outputs_of(model: SequenceModel, series: list[CaseInputs], batch: int) -> np.ndarray:
    """The outputs of a model for each case, at inference."""
    found = None
    for padded in batches(series, batch):
        outputs = np.asarray(_outputs(model, *padded[:3]))
        if found is None:
            found = np.zeros((len(series), *outputs.shape[1:]), outputs.dtype)
        found[padded.rows] = outputs[: len(padded.rows)]
    assert found is not None
    return found


def mean_loss(model: SequenceModel, loss: Loss, examples: Examples, batch: int) -> float:
    """The weighted mean loss of examples."""
    outputs = outputs_of(model, examples.series, batch)
    losses = np.asarray(loss(jnp.asarray(outputs), jnp.asarray(examples.targets)))
    return float((losses * examples.weights).sum() / examples.weights.sum())
