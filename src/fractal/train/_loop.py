"""Training, from top to bottom: data, model, steps, evaluation, checkpoints, the test score."""

import contextlib
import functools
import json
import pathlib
import signal
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from .. import tasks
from .._errors import UserError
from .._files import write_whole
from .._weights import save
from ..nn import SequenceModel
from ..tasks import Batch, Task
from ._checkpoints import Checkpoints
from ._config import Config, from_json
from ._devices import Devices
from ._evaluation import batches_of, evaluate, mask_of
from ._journal import Journal, find_loggers, open_loggers
from ._models import build, check_names, parameters
from ._optimizer import averaged, step, transformation
from ._signals import Stopped, stop_signals

_DIVERGED = 10  # times the first loss
_DROPOUT = 2**31 - 1


class State(NamedTuple):
    """All that changes in training; a checkpoint is this.

    The position in the data and all random numbers follow from the seed and the number of steps,
    which is the checkpoint's name.
    """

    model: SequenceModel
    moments: optax.OptState
    average: SequenceModel | None
    loss: Float[Array, ""]  # summed since the last line of metrics
    correct: Float[Array, ""]
    first_loss: Float[Array, ""]
    best: Float[Array, ""]


def train(
    config: Config,
    folder: pathlib.Path,
    resume: bool = False,
    loggers: Sequence[str] = (),
    workers: int = 1,
) -> dict:
    """Train a model, in steps that can be gone on with, and give its scores.

    **Arguments:**

    - `config`: everything that decides the result.
    - `folder`: where settings, metrics, checkpoints, weights and scores go.
    - `resume`: go on from the last checkpoint in `folder`.
    - `loggers`: `"tensorboard"`, `"wandb"`, `"trackio"`.
    - `workers`: processes for generating data.
    """
    check_names(config.model)
    devices = Devices()
    task = load_task(config, workers)
    devices.check_batch(config.data.batch)
    batches = batches_of(config, task, task.splits.train, devices, training=True)
    state = devices.copy(initial(config, task))
    found = find_loggers(loggers if devices.process == 0 else ())
    _open(folder, config, resume, devices)
    checkpoints, start = Checkpoints(folder / "checkpoints", config.keep), 0
    if resume:
        start, state = checkpoints.last(state, devices.say)
        devices.say(f"going on after step {start}")

    update = updater(config, task)
    opened = open_loggers(found, folder, json.loads(config.to_json()))
    journal = Journal(folder, start, config.steps, config.data.batch, devices.process == 0, opened)
    stream = batches.stream(start)
    with contextlib.closing(journal), contextlib.closing(stream), stop_signals() as signals:
        for done in range(start + 1, config.steps + 1):
            state = update(state, devices.share(next(stream)), done)
            last, best = done == config.steps, False
            if done % config.log_every == 0 or last:
                _report(state, done, config, journal)
            if done % config.evaluate_every == 0 or last:
                scores = evaluate(_judged(state), config, task, task.splits.validation, devices)
                journal.log(done, **{f"validation_{name}": x for name, x in scores.items()})
                journal.show(done, validation=scores["accuracy"])
                best = scores["accuracy"] > float(state.best)
                if best:
                    state = state._replace(best=devices.copy(jnp.float32(scores["accuracy"])))
            # Processes ask each other now and then only: it takes a message.
            together = devices.processes == 1 or done % config.log_every == 0
            stop = together and devices.any_process(bool(signals))
            if done % config.checkpoint_every == 0 or last or best or stop:
                _check_finite(state, done)
                checkpoints.save(done, state, best)
            if stop and not last:
                message = f"stopped after step {done}; go on: fractal train --resume {folder}"
                raise Stopped(message, signals[0] if signals else signal.SIGTERM)
    return _finish(config, task, folder, checkpoints, state, devices)


def score(folder: pathlib.Path) -> dict:
    """The scores of a run's best checkpoint on the test set."""
    config, devices = from_json(folder / "config.json"), Devices()
    task = load_task(config)
    state = devices.copy(initial(config, task))
    checkpoints = Checkpoints(folder / "checkpoints", config.keep)
    return _judge(config, task, checkpoints, state, devices)[0]


def load_task(config: Config, workers: int = 1) -> Task:
    """The data that the settings name."""
    data = config.data
    return tasks.load(
        data.task,
        preset=data.preset,
        data=data.folder,
        validation=data.validation,
        workers=workers,
    )


def initial(config: Config, task: Task) -> State:
    """Where training begins."""
    model: Any = build(config.model, task, jax.random.key(config.seed))
    return State(
        model=model,
        moments=transformation(config.optimizer, config.steps).init(model),
        average=jax.tree.map(jnp.copy, model) if config.optimizer.ema else None,
        loss=jnp.zeros(()),
        correct=jnp.zeros(()),
        first_loss=jnp.zeros(()),
        best=jnp.float32(-1.0),
    )


def updater(config: Config, task: Task) -> Callable[[State, Batch, int], State]:
    """One step of training, compiled."""
    optimizer = transformation(config.optimizer, config.steps)
    root = jax.random.fold_in(jax.random.key(config.seed), _DROPOUT)  # apart from the weights'

    def objective(model: SequenceModel, batch: Batch, key: Array):
        keys = jax.random.split(key, len(batch.labels))
        answers, statistics = jax.vmap(
            lambda x, mask, key: model.training(x, None, mask, key=key),
            axis_name="batch",
            out_axes=(0, None),
        )(batch.inputs, mask_of(task, batch), keys)
        losses = optax.softmax_cross_entropy_with_integer_labels(answers, batch.labels)
        return losses.mean(), (statistics, (answers.argmax(-1) == batch.labels).mean())

    @functools.partial(jax.jit, donate_argnums=0)
    def update(state: State, batch: Batch, root: Array, done: Int[Array, ""]) -> State:
        key = jax.random.fold_in(root, done)
        differentiate = jax.value_and_grad(objective, has_aux=True)
        (loss, (statistics, correct)), gradient = differentiate(state.model, batch, key)
        model, moments = step(optimizer, gradient, state.moments, state.model)
        model, average = model.with_statistics(statistics), state.average
        if average is not None:
            average = averaged(average, model, config.optimizer.ema)
        fresh = (done - 1) % config.log_every == 0
        return State(
            model,
            moments,
            average,
            loss=loss + jnp.where(fresh, 0, state.loss),
            correct=correct + jnp.where(fresh, 0, state.correct),
            first_loss=jnp.where(done == 1, loss, state.first_loss),
            best=state.best,
        )

    # The seed comes in as an argument, so that all seeds are the same to a compilation cache.
    return lambda state, batch, done: update(state, batch, root, jnp.int32(done))


def _report(state: State, done: int, config: Config, journal: Journal) -> None:
    """Write the means since the last line, and stop when training has gone wrong."""
    count = (done - 1) % config.log_every + 1
    loss, accuracy = float(state.loss) / count, float(state.correct) / count
    if not np.isfinite(loss) or loss > _DIVERGED * float(state.first_loss):
        raise _diverged(f"the loss is {loss:.3g}", done)
    journal.log(done, loss=loss, accuracy=accuracy)
    journal.show(done, loss=loss, accuracy=accuracy)


def _check_finite(state: State, done: int) -> None:
    """What is not finite must not become the last checkpoint."""
    if not _finite(state.model):
        raise _diverged("weights are no longer finite", done)


@jax.jit
def _finite(model: SequenceModel) -> Bool[Array, ""]:
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(model)]).all()


def _diverged(what: str, done: int) -> UserError:
    return UserError(
        f"training went wrong by step {done}: {what}. The last good checkpoint is kept; lower "
        "--optimizer.lr and --optimizer.ssm-lr, or set --optimizer.clip 1"
    )


def _judged(state: State) -> SequenceModel:
    return state.model if state.average is None else state.average


def _open(folder: pathlib.Path, config: Config, resume: bool, devices: Devices) -> None:
    """Begin the run's folder, or check that it is this run's."""
    path = folder / "config.json"
    if resume:
        if from_json(path) != config:
            raise UserError(f"{folder} is the folder of another run: its settings are different")
        return
    if devices.process != 0:
        return
    if path.exists():
        raise UserError(f"{folder} holds a run: go on with --resume {folder}, or choose --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, config.to_json().encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def _finish(
    config: Config,
    task: Task,
    folder: pathlib.Path,
    checkpoints: Checkpoints,
    state: State,
    devices: Devices,
) -> dict:
    """Judge the best checkpoint, and keep its weights and scores."""
    result, model = _judge(config, task, checkpoints, state, devices)
    if devices.process == 0:
        save(folder / "model.safetensors", jax.tree.map(np.asarray, model))
        write_whole(folder / "result.json", json.dumps(result, indent=2).encode())
    return result


def _judge(
    config: Config, task: Task, checkpoints: Checkpoints, state: State, devices: Devices
) -> tuple[dict, SequenceModel]:
    """The scores of the best checkpoint on the test set, and the model in it."""
    best_step, best = checkpoints.best(state, devices.say)
    if best_step == 0:
        raise UserError(f"{checkpoints.folder} holds no checkpoint")
    model = _judged(best)
    scores = evaluate(model, config, task, task.splits.test, devices)
    result = {
        "task": config.data.task,
        "preset": config.data.preset,
        "model": config.model.name,
        "parameters": parameters(model),
        "steps": config.steps,
        "seed": config.seed,
        "best_step": best_step,
        "validation_accuracy": float(best.best),
        "test_loss": scores["loss"],
        "test_accuracy": scores["accuracy"],
    }
    return result, model
