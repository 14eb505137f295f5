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

from .._checks import check_type
from .._errors import UserError
from ..nn import SequenceModel
from ..tasks import Batch, Task
from ._config import Config
from ._devices import Devices
from ._evaluation import lengths_of, outputs_of
from ._models import build
from ._optimizer import apply_gradient, make_optimizer, moving_average
from ._time_shards import over_time, time_axis

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
    check_type("config", config, Config)
    check_type("task", task, Task)
    return state_of(config, build(config.model, task, jax.random.key(config.seed)))


def state_of(config: Config, model: Any) -> TrainState:
    """The state of a new model before the first step."""
    model = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, model)
    if not jax.tree.leaves(trained_part(model)):
        raise UserError(f"model {config.model.name} has no parameters to train")
    return TrainState(
        model=model,
        opt_state=make_optimizer(config.optimizer, config.steps).init(trained_part(model)),
        average=copied(model) if config.optimizer.ema else None,
        loss=jnp.zeros(()),
        metric=jnp.zeros(()),
        first_loss=jnp.zeros(()),
        best=jnp.float32(-jnp.inf),
        seconds=jnp.zeros(()),
    )


def trained_part(model: Any) -> Any:
    """The floating-point arrays of a model; None in place of all else, such as a dropout rate."""
    return eqx.filter(model, eqx.is_inexact_array)


def copied(model: Any) -> Any:
    """A copy of all arrays: the state of a run is donated to its steps."""
    return jax.tree.map(lambda x: jnp.copy(x) if eqx.is_array(x) else x, model)


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


def make_objective(
    task: Task, devices: Devices | None = None
) -> Callable[[Any, Any, Batch, Array], tuple[Array, tuple]]:
    """The training objective: `objective(trained, rest, batch, key)` for the parts of a model.

    **Arguments:**

    - `devices`: where the sequences of a batch are; whole on each device by default.

    **Returns:** the mean loss of a batch, and its running averages and mean metric.
    """
    mesh, axis = (devices or Devices()).mesh, time_axis(task)

    def objective(trained: Any, rest: Any, batch: Batch, key: Array):
        model, lengths = eqx.combine(trained, rest), lengths_of(task, batch)
        keys = jax.random.split(key, len(batch.labels))
        outputs, statistics = over_time(
            mesh, axis, batch_outputs, model, batch.inputs, lengths, keys
        )
        losses, metrics = losses_of(task, outputs, batch.labels)
        return losses.mean(), (statistics, metrics.mean())

    return objective


def batch_outputs(
    model: Any, inputs: Any, lengths: Any, keys: Array, axis_name: str | None
) -> tuple[Array, Any]:
    """Outputs of a batch, and new running averages."""
    call, batch = functools.partial(outputs_of, model, axis_name=axis_name), (inputs, lengths, keys)
    if len(inputs) > 1:
        return jax.vmap(call, axis_name="batch", out_axes=(0, None))(*batch)
    # XLA's sums of products over time are over ten times slower on CPUs if the batch is an axis of
    # length one. Here the axis has a name, and the arrays do not have it.
    one = jax.tree.map(lambda x: x[0], batch)
    alone = jax.vmap(call, in_axes=None, out_axes=None, axis_name="batch", axis_size=1)
    outputs, statistics = alone(*one)
    return outputs[None], statistics


def make_train_step(
    config: Config,
    task: Task,
    devices: Devices | None = None,
    *,
    objective: Callable[[Any, Any, Batch, Array], tuple[Array, tuple]] | None = None,
) -> Callable[[TrainState, Batch, Any], TrainState]:
    """The compiled train step: `step(state, batch, number)`, with numbers from 1.

    `devices` share sequences as in `make_objective`, which is the default of `objective`.
    """
    check_type("config", config, Config)
    check_type("task", task, Task)
    objective = objective or make_objective(task, devices)
    optimizer = make_optimizer(config.optimizer, config.steps)
    root = jax.random.fold_in(jax.random.key(config.seed), _DROPOUT)  # apart from the weights'

    @functools.partial(eqx.filter_jit, donate="all-except-first")
    def train_step(kept: tuple[Batch, Array, Int[Array, ""]], state: TrainState) -> TrainState:
        batch, root, step = kept
        key = jax.random.fold_in(root, step)
        trained, rest = eqx.partition(state.model, eqx.is_inexact_array)
        differentiate = jax.value_and_grad(objective, has_aux=True)
        (loss, (statistics, metric)), gradient = differentiate(trained, rest, batch, key)
        # JAX's gradient with respect to a complex number is the conjugate of the direction of
        # steepest ascent.
        gradient = jax.tree.map(jnp.conj, gradient)
        trained, opt_state = apply_gradient(optimizer, gradient, state.opt_state, trained)
        model = eqx.combine(trained, rest)
        if isinstance(model, SequenceModel):
            model = model.with_statistics(statistics)
        average = state.average
        if average is not None:
            kept_part = trained_part(average)
            mean = moving_average(kept_part, trained_part(model), config.optimizer.ema)
            average = eqx.combine(mean, model)
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
    return lambda state, batch, step: train_step((batch, root, step), state)


def step_number(step: int) -> np.ndarray:
    """A step as an array, to be placed on the devices explicitly."""
    return np.asarray(step, np.int32)
