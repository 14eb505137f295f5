"""Training, from top to bottom: data, model, steps, evaluation, checkpoints, test score."""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Sequence
from os import PathLike
from typing import Any

import equinox as eqx
import jax
import numpy as np

from .. import tasks
from .._checks import check_path, check_type
from .._errors import UserError
from .._files import write_whole
from .._predictions import Predictions
from .._provenance import provenance
from .._run_folder import CHECKPOINTS, CONFIG, RESULT, WEIGHTS, write_predictions
from .._weights import check_savable, load, save
from ..tasks import Batches, Task
from ._bounds import check_model_memory, check_run_memory
from ._checkpoints import Checkpoints
from ._config import Config, read_config
from ._curriculum import Curriculum, check_names, check_stage
from ._devices import Devices
from ._evaluation import metric_of, predict, scores
from ._metrics import Logger, MetricsLogger, find_loggers, open_loggers
from ._models import build, check_model
from ._parameter_counts import parameter_count
from ._pretraining import check_pretraining, pretrained
from ._step import TrainState, evaluated, initial_state, make_train_step, trained_part
from ._steps import BatchSource, run_steps
from ._time_shards import check_shards


class RunExists(UserError):
    """A folder that already contains a run."""

    def __init__(self, folder: pathlib.Path):
        super().__init__(f"{folder} already contains a run: resume it, or choose another folder")
        self.folder = folder


def train(
    config: Config,
    folder: str | PathLike,
    *,
    resume: bool = False,
    loggers: Sequence[str | Logger] = (),
    workers: int = 1,
    sequence_shards: int = 1,
) -> dict[str, Any]:
    """Train a model and return its scores.

    **Arguments:**

    - `config`: the settings.
    - `folder`: folder of the run: config.json, metrics.jsonl, checkpoints, result.json,
      predictions.safetensors and model.safetensors.
    - `resume`: whether to continue from the last checkpoint in `folder`. Resuming an interrupted
      run reproduces its losses exactly.
    - `loggers`: additional loggers: `"tensorboard"`, `"wandb"`, `"trackio"`, or objects with the
      methods `log(metrics, step)` and `finish()`.
    - `workers`: number of processes that generate data.
    - `sequence_shards`: number of devices that share each sequence, for sequences that do not fit
      on one device. The groups of devices share the batch. A run may be resumed with another
      number.

    **Returns:** the content of result.json.
    """
    check_type("config", config, Config)
    check_type("resume", resume, bool)
    folder = check_path("folder", folder)
    if isinstance(loggers, str) or not isinstance(loggers, Sequence):
        raise UserError(
            f"must be a list of names or loggers, got {loggers!r:.60}", argument="loggers"
        )
    origin = provenance()  # of the code that trains: files may change meanwhile
    check_model(config.model)
    check_model_memory(config.model)
    check_names(config.data.curriculum)
    devices = Devices(sequence_shards)
    found = find_loggers(loggers if devices.process == 0 else ())
    _check_folder(folder, config, resume)
    task = load_task(config, workers=workers)
    check_run_memory(config, task)
    devices.check_batch(config.data.batch)
    batches = _training_batches(config, task, devices, workers)
    state = devices.copy(initial_state(config, task))
    check_savable(state.model)
    check_shards(devices, config, task, state.model)
    check_pretraining(config, state.model, devices)
    if not resume and devices.process == 0:
        _create(folder, config)
    checkpoints = Checkpoints(folder / CHECKPOINTS, config.keep, writer=devices.process == 0)
    start = 0
    if resume:
        start, state = checkpoints.last(state, devices.say)
        devices.say(f"resuming after step {start}")

    if config.pretrain and start == 0:
        own = _batches_of(task, config, devices)
        state = pretrained(state, config, task, own, folder, devices)

    opened = open_loggers(found, folder, json.loads(config.to_json()))
    metrics = MetricsLogger(
        folder, start, config.steps, config.data.batch, devices.process == 0, opened
    )
    state = run_steps(
        state,
        start,
        make_train_step(config, task, devices),
        batches,
        config,
        devices,
        checkpoints,
        metrics,
        folder,
        metric=metric_of(task),
        validate=lambda state, step: _validate(state, step, config, task, devices, metrics),
    )
    return _finish(config, task, folder, checkpoints, state, devices, origin)


def evaluate_run(folder: str | PathLike) -> dict[str, Any]:
    """The scores of a run's best checkpoint on the test set.

    Without checkpoints, as in a published model, those of its weights: config.json and
    model.safetensors are sufficient.
    """
    folder = check_path("folder", folder)
    config, devices = read_config(folder / CONFIG), Devices()
    trained = (folder / CHECKPOINTS).is_dir()
    if not trained and not (folder / WEIGHTS).is_file():
        raise UserError(f"{folder} contains neither checkpoints nor {WEIGHTS}")
    check_model(config.model)
    check_model_memory(config.model)
    task = load_task(config)
    if not trained:
        model = _load_weights(folder / WEIGHTS, config, task)
        return _test(config, task, model, devices)[0]
    state = devices.copy(initial_state(config, task))
    checkpoints = Checkpoints(folder / CHECKPOINTS, config.keep, writer=False)
    return _test_best(config, task, checkpoints, state, devices)[0]


def _load_weights(path: pathlib.Path, config: Config, task: Task) -> Any:
    """The model in a file, which must be that of the settings."""
    try:
        model = load(path)
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from None
    if _shapes(model) != _shapes(build(config.model, task, jax.random.key(config.seed))):
        raise UserError(f"the model in {path} is not that of {path.parent / CONFIG}")
    return model


def _shapes(model: Any) -> dict[str, tuple[int, ...]]:
    found, _ = jax.tree.flatten_with_path(trained_part(model))
    return {jax.tree_util.keystr(place): leaf.shape for place, leaf in found}


def load_task(config: Config, *, workers: int = 1) -> Task:
    """The task of a run's settings."""
    check_type("config", config, Config)
    data = config.data
    return tasks.load(
        data.task,
        preset=data.preset,
        data=None if data.folder is None else pathlib.Path(data.folder),
        validation=data.validation,
        workers=workers,
    )


def _training_batches(config: Config, task: Task, devices: Devices, workers: int) -> BatchSource:
    """The batches of the task, after those of the easier tasks of a curriculum."""
    if not config.data.curriculum:
        return _batches_of(task, config, devices)
    easier = []
    for name in config.data.curriculum:
        data = dataclasses.replace(config.data, task=name, curriculum=())
        stage = load_task(dataclasses.replace(config, data=data), workers=workers)
        check_stage(stage, task)
        easier.append(_batches_of(stage, config, devices))
    return Curriculum(easier, _batches_of(task, config, devices), config.steps)


def _batches_of(task: Task, config: Config, devices: Devices) -> Batches:
    return Batches(
        task,
        task.splits.train,
        config.data.batch,
        training=True,
        seed=config.seed,
        buckets=config.data.buckets,
        process=devices.reader,
        processes=devices.readers,
    )


def _validate(
    state: TrainState,
    step: int,
    config: Config,
    task: Task,
    devices: Devices,
    metrics: MetricsLogger,
) -> tuple[TrainState, bool]:
    """Write the scores on the validation set; whether they are the best so far."""
    data, metric = config.data, metric_of(task)
    found = scores(
        task,
        predict(
            evaluated(state),
            task,
            task.splits.validation,
            devices,
            batch=data.batch,
            buckets=data.buckets,
        ),
    )
    metrics.log(step, **{f"validation_{name}": value for name, value in found.items()})
    metrics.show(step, validation=found[metric])
    score = -found["loss"] if task.kind == "regression" else found["accuracy"]
    if not score > float(state.best):
        return state, False
    return state._replace(best=devices.copy(np.float32(score))), True


def _check_folder(folder: pathlib.Path, config: Config, resume: bool) -> None:
    """Raise `UserError` if the folder contains another run, before any data is read."""
    path = folder / CONFIG
    if resume:
        if read_config(path) != config:
            raise UserError(f"{folder} contains a run with other settings", argument="config")
    elif path.exists():
        raise RunExists(folder)
    elif folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder", argument="folder")


def _create(folder: pathlib.Path, config: Config) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / CONFIG, config.to_json().encode())
    except OSError as error:
        raise UserError(f"cannot write in {folder}: {error.strerror}", argument="folder") from None


def _finish(
    config: Config,
    task: Task,
    folder: pathlib.Path,
    checkpoints: Checkpoints,
    state: TrainState,
    devices: Devices,
    origin: dict[str, Any],
) -> dict[str, Any]:
    """Evaluate the best checkpoint; write scores, weights and predictions, in this order."""
    seconds = float(state.seconds)
    result, model, predictions = _test_best(config, task, checkpoints, state, devices)
    result |= {
        "seconds": seconds,
        "examples_per_second": (config.steps + config.pretrain) * config.data.batch / seconds
        if seconds
        else None,
        "peak_memory_bytes": _peak_memory(),
        "provenance": origin,
    }
    if devices.process == 0:
        write_whole(folder / RESULT, json.dumps(result, indent=2).encode())
        arrays, rest = eqx.partition(model, eqx.is_array)
        save(folder / WEIGHTS, eqx.combine(jax.tree.map(np.asarray, arrays), rest))
        write_predictions(folder, predictions)
    return result


def _peak_memory() -> int | None:
    """Bytes at most in use so far, on the device or in this process; None where not known."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "peak_bytes_in_use" in stats:
        return int(stats["peak_bytes_in_use"])
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _test_best(
    config: Config, task: Task, checkpoints: Checkpoints, state: TrainState, devices: Devices
) -> tuple[dict[str, Any], Any, Predictions]:
    """Scores, model and predictions of the best checkpoint."""
    best_step, best = checkpoints.best(state, devices.say)
    if best_step == 0:
        raise UserError(f"{checkpoints.folder} contains no checkpoint")
    model, score = evaluated(best), float(best.best)
    result, predictions = _test(config, task, model, devices)
    result |= {
        "best_step": best_step,
        f"validation_{metric_of(task)}": -score if task.kind == "regression" else score,
    }
    return result, model, predictions


def _test(
    config: Config, task: Task, model: Any, devices: Devices
) -> tuple[dict[str, Any], Predictions]:
    """Scores and predictions of a model on the test set."""
    data, metric = config.data, metric_of(task)
    predictions = predict(
        model, task, task.splits.test, devices, batch=data.batch, buckets=data.buckets
    )
    found = scores(task, predictions)
    result = {
        "task": config.data.task,
        "preset": config.data.preset,
        "kind": task.kind,
        "metric": metric,
        "model": config.model.name,
        "parameters": parameter_count(model),
        "steps": config.steps,
        "seed": config.seed,
        "test_loss": found["loss"],
        f"test_{metric}": found[metric],
    }
    return result, predictions
