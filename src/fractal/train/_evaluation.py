"""Batches for all processes, and the scores of a model on a split."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ..nn import SequenceModel
from ..tasks import Batch, Batches, Split, Task
from ._config import Config
from ._devices import Devices


def batches_of(
    config: Config, task: Task, split: Split, devices: Devices, training: bool
) -> Batches:
    """The batches of a split, of which this process reads its share."""
    return Batches(
        task,
        split,
        config.data.batch,
        training=training,
        seed=config.seed,
        buckets=config.data.buckets,
        process=devices.process,
        processes=devices.processes,
    )


def mask_of(task: Task, batch: Batch) -> Any:
    """How much of each sequence is not padding; pictures have none."""
    return batch.lengths if task.tokens else None


def evaluate(
    model: SequenceModel, config: Config, task: Task, split: Split, devices: Devices
) -> dict[str, float]:
    """Mean loss and accuracy over a split."""
    batches = batches_of(config, task, split, devices, training=False)
    stream, sums = batches.stream(), np.zeros(3)
    for _ in range(len(batches)):
        batch = devices.share(next(stream))
        sums += np.asarray(_sums(model, batch, mask_of(task, batch)), float)
    stream.close()
    loss, correct, count = sums
    return {"loss": float(loss / count), "accuracy": float(correct / count)}


@jax.jit
def _sums(model: SequenceModel, batch: Batch, mask: Array | None) -> Float[Array, "3"]:
    """Summed loss, right answers and number of a batch's examples."""
    answers = jax.vmap(lambda x, lengths: model(x, lengths=lengths))(batch.inputs, mask)
    losses = optax.softmax_cross_entropy_with_integer_labels(answers, batch.labels)
    correct = answers.argmax(-1) == batch.labels
    return jnp.stack([jnp.sum(x, where=batch.real) for x in (losses, correct, batch.real)])
