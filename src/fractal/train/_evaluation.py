"""Batches of a run, predictions of a model, and their scores."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_count, check_type
from .._errors import UserError
from .._predictions import Predictions
from ..nn import SequenceModel
from ..tasks import Batch, Batches, Split, Task
from ._devices import Devices
from ._time_shards import over_time, time_axis


def metric_of(task: Task) -> str:
    """The name of the metric of a task, besides its loss."""
    return "mean_squared_error" if task.kind == "regression" else "accuracy"


def outputs_of(
    model: Any, x: Any, lengths: Any, key: PRNGKeyArray | None, axis_name: str | None = None
) -> tuple[Float[Array, "*time outputs"], Any]:
    """Outputs for one sequence, and new running averages; `key` is None in evaluation.

    A model without pooling has outputs at every time step. `axis_name` is the mesh axis over which
    time is sharded.
    """
    if isinstance(model, SequenceModel):
        if key is None:
            return model(x, lengths=lengths, axis_name=axis_name), None
        return model.training(x, lengths=lengths, key=key, axis_name=axis_name)
    return model(x, lengths=lengths, key=key), None


def lengths_of(task: Task, batch: Batch) -> Any:
    """The lengths of a batch, or None where no sequence of the task is padded."""
    return batch.lengths if task.padded else None


def evaluate(
    model: Any,
    task: Task,
    split: Split | str | None = None,
    *,
    batch: int = 50,
    buckets: int = 1,
) -> dict[str, float]:
    """Mean loss and metric of a model on a split of a task.

    **Arguments:**

    - `model`: a model for one sequence, such as `fractal.load` returns.
    - `task`: the task.
    - `split`: a split of it, or `"train"`, `"validation"` or `"test"` (the default).
    - `batch`, `buckets`: examples per batch, and number of padded lengths.

    **Returns:** `loss` and `accuracy`, or `loss` and `mean_squared_error` for regression.
    """
    check_type("task", task, Task)
    if not callable(model):
        raise UserError(f"must be a model, got {model!r:.60}", argument="model")
    chosen = _split(task, split)
    batch = min(check_count("batch", batch, 1), len(chosen))
    devices = Devices()
    batch += -batch % devices.count
    return scores(task, predict(model, task, chosen, devices, batch=batch, buckets=buckets))


def _split(task: Task, split: Split | str | None) -> Split:
    if isinstance(split, Split):
        return split
    name = "test" if split is None else split
    if name not in task.splits._fields:
        message = f"must be train, validation or test, got {split!r:.60}"
        raise UserError(message, argument="split")
    return getattr(task.splits, name)


def predict(
    model: Any, task: Task, split: Split, devices: Devices, *, batch: int, buckets: int = 1
) -> Predictions:
    """Outputs and targets of a split, in the order of the split."""
    batches = Batches(
        task,
        split,
        batch,
        training=False,
        buckets=buckets,
        process=devices.reader,
        processes=devices.readers,
    )
    stream, found = batches.stream(), []
    for _ in range(len(batches)):
        shared = devices.share(next(stream))
        lengths = lengths_of(task, shared)
        outputs = _outputs(devices.mesh, time_axis(task), model, shared.inputs, lengths)
        outputs, targets, real = devices.gather((outputs, shared.labels, shared.real))
        found.append((outputs[real], targets[real]))
    stream.close()
    outputs, targets = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(batches.examples())
    return Predictions(outputs[order], targets[order])


@eqx.filter_jit
def _outputs(
    mesh: Mesh, axis: int, model: Any, inputs: Any, lengths: Any
) -> Float[Array, "batch outputs"]:
    def batch(model, inputs, lengths, _, axis_name):
        def one(x, length):
            return outputs_of(model, x, length, None, axis_name)[0]

        return jax.vmap(one)(inputs, lengths)

    return over_time(mesh, axis, batch, model, inputs, lengths, None)


def scores(task: Task, predictions: Predictions) -> dict[str, float]:
    """Mean loss and metric."""
    loss = float(predictions.losses().mean())
    if task.kind == "regression":
        return {"loss": loss, "mean_squared_error": loss}
    return {"loss": loss, "accuracy": float(predictions.correct().mean())}
