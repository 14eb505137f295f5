"""Self-pretraining: a model first learns to fill in hidden steps of the task's own sequences.

Half of the steps of every training sequence are hidden: tokens by id 0 (padding in the built-in
tasks), values by one outside of their range. The model predicts them, tokens by cross-entropy and
values by squared error. Its encoder and blocks then start the supervised run, with a new head.
Labels are not used.
"""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from .._errors import UserError
from .._run_folder import CHECKPOINTS
from ..nn import SequenceModel
from ..tasks import Batch, Batches, Task
from ._checkpoints import Checkpoints
from ._config import Config
from ._devices import Devices
from ._evaluation import lengths_of
from ._metrics import MetricsLogger
from ._models import build_per_step, spec_of
from ._step import TrainState, batch_outputs, copied, make_train_step, state_of
from ._steps import run_steps

PRETRAINING = "pretraining"
_HIDDEN = 0.5  # share of the steps
_SEED = 2**31 - 2  # of the head, apart from the seeds of weights and dropout


def check_pretraining(config: Config, model: Any, devices: Devices) -> None:
    """Raise `UserError` if a model cannot be pretrained."""
    if not config.pretrain:
        return
    if not isinstance(model, SequenceModel) or spec_of(config.model.name).kind == "model":
        message = f"model {config.model.name} cannot be pretrained: it has a head of its own"
        raise UserError(message, argument="pretrain")
    if devices.shards > 1:
        raise UserError("cannot be combined with sequence_shards", argument="pretrain")


def pretrained(
    state: TrainState,
    config: Config,
    task: Task,
    batches: Batches,
    folder: pathlib.Path,
    devices: Devices,
) -> TrainState:
    """The initial state of a run, with a pretrained model.

    Checkpoints and metrics are in the subfolder `pretraining` of the run's `folder`. If there are
    some, pretraining is resumed.
    """
    own, subfolder, first = _own_settings(config), folder / PRETRAINING, devices.process == 0
    if first:
        subfolder.mkdir(exist_ok=True)
    masked = devices.copy(state_of(own, _per_step_model(config, task)))
    checkpoints = Checkpoints(subfolder / CHECKPOINTS, own.keep, writer=first)
    start, masked = checkpoints.last(masked, devices.say)
    if start < own.steps:
        devices.say(f"pretraining for {own.steps} steps, from step {start + 1}")
        masked = run_steps(
            masked,
            start,
            make_train_step(own, task, devices, objective=masked_objective(task)),
            batches,
            own,
            devices,
            checkpoints,
            MetricsLogger(subfolder, start, own.steps, own.data.batch, first),
            folder,
            metric="accuracy" if task.tokens else "mean_squared_error",
        )
    model = with_features(state.model, masked.model)
    average = None if state.average is None else with_features(state.average, masked.model)
    return state._replace(model=model, average=copied(average), seconds=jnp.copy(masked.seconds))


def _own_settings(config: Config) -> Config:
    """The settings of pretraining: those of the run, for other steps."""
    warmup = min(config.optimizer.warmup, config.pretrain - 1)
    optimizer = dataclasses.replace(config.optimizer, warmup=warmup, ema=0.0)
    return dataclasses.replace(config, steps=config.pretrain, pretrain=0, optimizer=optimizer)


def _per_step_model(config: Config, task: Task) -> SequenceModel:
    """The model of a run, with one output per step for each input."""
    key = jax.random.fold_in(jax.random.key(config.seed), _SEED)
    return build_per_step(config.model, task, key)


def with_features(model: SequenceModel, other: SequenceModel) -> SequenceModel:
    """The model with the weights of another one, except for the head."""

    def features(model: SequenceModel) -> tuple:
        return model.encoder, model.blocks, model.final_norm, model.table

    return eqx.tree_at(features, model, features(other), is_leaf=lambda x: x is None)


def masked_objective(task: Task) -> Callable[[Any, Any, Batch, Array], tuple[Array, tuple]]:
    """The objective of pretraining, as `make_objective` of a task."""
    value = _hiding_value(task)

    def objective(trained: Any, rest: Any, batch: Batch, key: Array):
        inputs, lengths = batch.inputs, lengths_of(task, batch)
        if task.kind == "retrieval":  # the documents of a pair are sequences of their own
            inputs, lengths = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (inputs, lengths))
        key, hiding = jax.random.split(key)
        hidden = jax.random.bernoulli(hiding, _HIDDEN, inputs.shape[:2])
        shown = jnp.where(jnp.expand_dims(hidden, tuple(range(2, inputs.ndim))), value, inputs)
        shown = shown.astype(inputs.dtype)
        keys = jax.random.split(key, len(inputs))
        outputs, statistics = batch_outputs(eqx.combine(trained, rest), shown, lengths, keys, None)
        if lengths is not None:
            hidden &= jnp.arange(inputs.shape[1])[None] < lengths[:, None]
        if task.tokens:
            losses = optax.softmax_cross_entropy_with_integer_labels(outputs, inputs)
            found = (outputs.argmax(-1) == inputs).astype(losses.dtype)
        else:
            losses = found = jnp.mean((outputs - inputs) ** 2, axis=-1)
        count = jnp.maximum(hidden.sum(dtype=losses.dtype), 1)
        loss, metric = (jnp.sum(x, where=hidden) / count for x in (losses, found))
        return loss, (statistics, metric)

    return objective


def _hiding_value(task: Task) -> float:
    """What hidden steps are replaced by: token 0, or a value below all others."""
    if task.tokens:
        return 0
    values = task.splits.train.sequences.values if task.levels is None else task.levels
    return float(values.min() - values.std())
