"""The train step: state, objective and update."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from .._errors import UserError
from ..nn import SequenceModel
from ..tasks import Batch, Task
from ._config import Config
from ._evaluation import lengths_of, outputs_of
from ._models import build
from ._optimizer import apply_gradient, make_optimizer, moving_average

_DROPOUT = 2**31 - 1


class TrainState(NamedTuple):
    """Everything that changes in training, and the content of a checkpoint.

    The position in the data and all random numbers follow from the seed and the step, which is the
    checkpoint's name.
    """

    model: Any
    opt_state: optax.OptState
    average: Any
    loss: Float[Array, ""]  # summed since the last line of metrics, as is the metric
    metric: Float[Array, ""]
    first_loss: Float[Array, ""]
    best: Float[Array, ""]  # validation score of the best checkpoint, higher is better
    seconds: Float[Array, ""]  # wall time of training


def initial_state(config: Config, task: Task) -> TrainState:
    """The state before the first step."""
    model: Any = build(config.model, task, jax.random.key(config.seed))
    _check_arrays(model)
    return TrainState(
        model=model,
        opt_state=make_optimizer(config.optimizer, config.steps).init(model),
        average=jax.tree.map(jnp.copy, model) if config.optimizer.ema else None,
        loss=jnp.zeros(()),
        metric=jnp.zeros(()),
        first_loss=jnp.zeros(()),
        best=jnp.float32(-jnp.inf),
        seconds=jnp.zeros(()),
    )


def _check_arrays(model: Any) -> None:
    """All leaves are differentiable arrays; a user's model may contain others."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(model):
        if not eqx.is_inexact_array(leaf):
            name = jax.tree_util.keystr(path).lstrip(".")
            raise UserError(
                f"the model's field {name} must be an array of floats: declare it with "
                f"equinox.field(static=True), got {leaf!r:.60}"
            )


def evaluated(state: TrainState) -> Any:
    """The weights that are evaluated: the last ones, or their moving average."""
    return state.model if state.average is None else state.average


def losses_of(task: Task, outputs: Array, labels: Any) -> tuple[Array, Array]:
    """Loss and metric of every example of a batch."""
    if task.kind == "regression":
        errors = jnp.mean((outputs - labels.reshape(outputs.shape)) ** 2, axis=-1)
        return errors, errors
    losses = optax.softmax_cross_entropy_with_integer_labels(outputs, labels)
    return losses, outputs.argmax(-1) == labels


def make_train_step(config: Config, task: Task) -> Callable[[TrainState, Batch, Any], TrainState]:
    """The compiled train step: `step(state, batch, number)`, with numbers from 1."""
    optimizer = make_optimizer(config.optimizer, config.steps)
    root = jax.random.fold_in(jax.random.key(config.seed), _DROPOUT)  # apart from the weights'

    def objective(model: Any, batch: Batch, key: Array):
        keys = jax.random.split(key, len(batch.labels))
        outputs, statistics = jax.vmap(
            functools.partial(outputs_of, model), axis_name="batch", out_axes=(0, None)
        )(batch.inputs, lengths_of(task, batch), keys)
        losses, metrics = losses_of(task, outputs, batch.labels)
        return losses.mean(), (statistics, metrics.mean())

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(
        state: TrainState, batch: Batch, root: Array, step: Int[Array, ""]
    ) -> TrainState:
        key = jax.random.fold_in(root, step)
        differentiate = jax.value_and_grad(objective, has_aux=True)
        (loss, (statistics, metric)), gradient = differentiate(state.model, batch, key)
        model, opt_state = apply_gradient(optimizer, gradient, state.opt_state, state.model)
        if isinstance(model, SequenceModel):
            model = model.with_statistics(statistics)
        average = state.average
        if average is not None:
            average = moving_average(average, model, config.optimizer.ema)
        restart = (step - 1) % config.log_every == 0
        return state._replace(
            model=model,
            opt_state=opt_state,
            average=average,
            loss=loss + jnp.where(restart, 0, state.loss),
            metric=metric + jnp.where(restart, 0, state.metric),
            first_loss=jnp.where(step == 1, loss, state.first_loss),
        )

    # The seed is an argument, so that all seeds share one compilation.
    return lambda state, batch, step: train_step(state, batch, root, step)


def step_number(step: int) -> np.ndarray:
    """A step as an array, to be placed on the devices explicitly."""
    return np.asarray(step, np.int32)
