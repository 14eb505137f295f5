"""Which clock: does a model notice that its input was sampled at another rate?

`python -m experiments.clock`, about an hour and a half of CPU time

The scale-invariant clock keeps its accuracy at higher rates, untold, on every task; the others fall
to chance on MNIST. At the trained rate it is far ahead on permuted MNIST, level with the uniform
one on ListOps and sequential MNIST, and a little behind on images.

Every model is trained at one rate, and then reads the test set at others: each sample repeated,
values interpolated in between, every second sample, the mean of two, and time run through a smooth
random warp between half and twice the rate. "told" models have their time steps Δ rescaled by the
known factor, which the scale-invariant clock needs not know. No model is told of the warp.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from fractal.tasks import Batch, Batches, Split, Task

from . import runs

MODELS: dict[str, dict[str, Any]] = {
    "fractal, scale-invariant": {"model": "fractal", "clock": "scale-invariant"},
    "fractal, scale-invariant, one block": {
        "model": "fractal",
        "clock": "scale-invariant",
        "alphas": [0.5],
        "dt_min": 0.3,
        "dt_max": 3.0,
    },
    "fractal, uniform": {"model": "fractal"},
    "s5": {"model": "s5"},
    "s4d": {"model": "s4d"},
}
READ = 1000  # of the test set, evenly spread: the classes may stand one after the other in it
# What the idea was first tried with, on sequential MNIST: larger and longer.
SKETCH = {"width": 48, "order": 16, "steps": 600, "batch": 32}
_BLOCKS = 8  # of the filter bank; a single one has the order of all of them together


class View(NamedTuple):
    """A batch at another rate, and how long its samples are."""

    inputs: np.ndarray
    lengths: np.ndarray
    dt: float


def measure(task: str, model: str, direction: str, pooling: str, seed: int, sketch: bool) -> dict:
    """Test accuracy at the trained rate and at all others."""
    ways = {"bidirectional": direction == "bidirectional", "pooling": pooling}
    ways |= SKETCH if sketch else {}
    first = runs.settings(task, "fractal", seed, **ways)
    chosen = ways | MODELS[model]
    if "alphas" in chosen:
        chosen["order"] = _BLOCKS * int(first.model.options["order"])
    like = first if model in ("s5", "s4d") else None
    config = runs.settings(task, chosen.pop("model"), seed, like=like, **chosen)
    run = runs.trained(config)
    told = chosen.get("clock") != "scale-invariant"
    return {
        **{name: found for name, found in run.summary().items() if name != "curve"},
        "accuracy": accuracies(run.model, run.task, told, seed),
    }


def accuracies(model: Any, task: Task, told: bool, seed: int) -> dict[str, float]:
    """Of some of the test set, in each view."""
    test = task.splits.test
    some = np.linspace(0, len(test), min(READ, len(test)), endpoint=False).astype(int)
    batches = Batches(task, Split(test.sequences, test.rows[some]), 50, training=False)
    right: dict[str, list[bool]] = {}
    for number in range(len(batches)):
        batch = batches[number]
        for name, view in views(batch, task.tokens, np.random.default_rng([seed, number])).items():
            mask = view.lengths if task.tokens else None
            for dt in sorted({1.0, view.dt}) if told else (1.0,):
                label = name if dt == 1.0 else f"{name}, told"
                answers = np.asarray(_answers(model, view.inputs, mask, dt)).argmax(-1)
                right.setdefault(label, []).extend((answers == batch.labels)[batch.real].tolist())
    return {name: round(float(np.mean(found)), 4) for name, found in right.items()}


@jax.jit
def _answers(model: Any, inputs: jax.Array, mask: jax.Array | None, dt: float) -> jax.Array:
    return jax.vmap(lambda x, length: model(x, dt, length))(inputs, mask)


def views(batch: Batch, tokens: bool, rng: np.random.Generator) -> dict[str, View]:
    """The batch at all rates. Between two tokens there is nothing to interpolate."""
    time = batch.inputs.shape[-1 if tokens else -2]
    picked = {
        "as trained": (np.arange(time), 1.0),
        "repeated 2": (np.repeat(np.arange(time), 2), 1 / 2),
        "repeated 4": (np.repeat(np.arange(time), 4), 1 / 4),
        "subsampled 0.5": (np.arange(0, time, 2), 2.0),
    }
    axis = -1 if tokens else -2
    found = {
        name: View(np.take(batch.inputs, index, axis), np.searchsorted(index, batch.lengths), dt)
        for name, (index, dt) in picked.items()
    }
    found["warped"] = _warped(batch, rng)
    if not tokens:
        for factor in (2, 4):
            found[f"interpolated {factor}"] = _interpolated(batch, factor)
        pairs = batch.inputs[..., : time // 2 * 2, :]
        mean = pairs.reshape(*pairs.shape[:-2], -1, 2, pairs.shape[-1]).mean(axis=-2)
        found["averaged 0.5"] = View(mean, batch.lengths // 2, 2.0)
    return found


def _warped(batch: Batch, rng: np.random.Generator) -> View:
    """Each sequence in a time of its own, which ends when the sequence does."""
    inputs = batch.inputs.copy()
    for one in map(tuple, np.argwhere(batch.lengths)):  # a batch is filled up with empty ones
        length = batch.lengths[one]
        inputs[one][:length] = inputs[one][warp(length, rng)]
    return View(inputs, batch.lengths, 1.0)


def _interpolated(batch: Batch, factor: int) -> View:
    """Straight lines between the middles of the samples."""
    time = batch.inputs.shape[-2]
    place = np.clip((np.arange(time * factor) + 0.5) / factor - 0.5, 0, time - 1)
    left = np.minimum(place.astype(int), time - 2)
    weight = (place - left)[:, None].astype(batch.inputs.dtype)
    values = (1 - weight) * batch.inputs[:, left] + weight * batch.inputs[:, left + 1]
    return View(values, batch.lengths * factor, 1 / factor)


def warp(time: int, rng: np.random.Generator) -> np.ndarray:
    """Which sample is read at each step, at a rate that swings between 1/2 and 2, or nearly."""
    s = (np.arange(time) + 0.5) / time
    waves, phase = rng.integers(1, 3), rng.random()
    passed = np.cumsum(np.exp(np.log(2) * np.sin(2 * np.pi * (waves * s + phase))))
    middle = passed - np.diff(passed, prepend=0) / 2
    return np.minimum((middle / passed[-1] * time).astype(int), time - 1)


def main() -> None:
    """All cases."""
    ways = [("bidirectional", "mean"), ("causal", "last"), ("causal", "mean")]
    tasks = ("smnist", "listops", "image", "text", "psmnist", "retrieval")
    causal = {"task": "smnist", "direction": "causal", "pooling": "last", "sketch": True}
    cases = [causal | {"model": model, "seed": seed} for seed in runs.SEEDS for model in MODELS]
    cases += [
        {"task": task, "model": model, "direction": direction, "pooling": pooling, "seed": seed}
        | {"sketch": False}
        for task in tasks
        for seed in runs.SEEDS
        for direction, pooling in (ways if task == "smnist" else ways[:1])
        for model in MODELS
    ]
    runs.run("clock", cases, measure)


if __name__ == "__main__":
    runs.main(main)
