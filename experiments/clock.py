"""How does the accuracy of a model change when the sampling rate of its input changes?

`python -m experiments.clock`, about an hour and a half of CPU time

The scale-invariant clock keeps its accuracy at higher rates without rescaling Δ, on every task;
without rescaling the other models fall to chance level on MNIST. At the training sampling rate it
is far ahead on permuted MNIST, equal to the uniform clock on ListOps and sequential MNIST, and
slightly behind on images.

Every model is trained at one rate and evaluated on the test set at others: upsampled by repeating
each sample or by interpolation, downsampled by taking every second sample or means of two, and
warped in time smoothly between half and twice the rate. "rescaled Δ": the step size is multiplied
by the known factor, which the scale-invariant clock does not need. The warp is not compensated.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from fractal.tasks import Batch, Batches, Split, Task

from . import runs

MODELS: dict[str, dict[str, Any]] = {
    "fractal, scale-invariant": {"model": "fractal", "clock": "scale-invariant"},
    "fractal, scale-invariant, single block": {
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
READ = 1000  # test examples, evenly spaced, since a test set may be sorted by class
# Larger models and longer runs, on sequential MNIST.
LARGER = {"width": 48, "order": 16, "steps": 600, "batch": 32}
_BLOCKS = 8  # of the filter bank; a single block has the order of all of them together


class View(NamedTuple):
    """A batch at another rate, and the step size relative to training."""

    inputs: np.ndarray
    lengths: np.ndarray
    dt: float


def measure(task: str, model: str, direction: str, pooling: str, seed: int, larger: bool) -> dict:
    """Test accuracy at the training sampling rate and at all others."""
    ways = {"bidirectional": direction == "bidirectional", "pooling": pooling}
    ways |= LARGER if larger else {}
    first = runs.settings(task, "fractal", seed, **ways)
    chosen = ways | MODELS[model]
    if "alphas" in chosen:
        chosen["order"] = _BLOCKS * int(first.model.options["order"])
    like = first if model in ("s5", "s4d") else None
    config = runs.settings(task, chosen.pop("model"), seed, like=like, **chosen)
    run = runs.trained(config)
    rescale = chosen.get("clock") != "scale-invariant"
    return {
        **{name: found for name, found in run.summary().items() if name != "curve"},
        "accuracy": accuracies(run.model, run.task, rescale, seed),
    }


def accuracies(model: Any, task: Task, rescale: bool, seed: int) -> dict[str, float]:
    """Accuracy on a part of the test set at each rate, with and without rescaling Δ."""
    test = task.splits.test
    some = np.linspace(0, len(test), min(READ, len(test)), endpoint=False).astype(int)
    batches = Batches(task, Split(test.sequences, test.rows[some]), 50, training=False)
    correct: dict[str, list[bool]] = {}
    for number in range(len(batches)):
        batch = batches[number]
        for name, view in views(batch, task.tokens, np.random.default_rng([seed, number])).items():
            lengths = view.lengths if task.tokens else None
            for dt in sorted({1.0, view.dt}) if rescale else (1.0,):
                label = name if dt == 1.0 else f"{name}, rescaled Δ"
                found = np.asarray(_logits(model, view.inputs, lengths, dt)).argmax(-1)
                correct.setdefault(label, []).extend((found == batch.labels)[batch.real].tolist())
    return {name: round(float(np.mean(found)), 4) for name, found in correct.items()}


@jax.jit
def _logits(model: Any, inputs: jax.Array, lengths: jax.Array | None, dt: float) -> jax.Array:
    return jax.vmap(lambda x, length: model(x, dt=dt, lengths=length))(inputs, lengths)


def views(batch: Batch, tokens: bool, rng: np.random.Generator) -> dict[str, View]:
    """The batch at all rates. Tokens are not interpolated or averaged."""
    time = batch.inputs.shape[-1 if tokens else -2]
    picked = {
        "training rate": (np.arange(time), 1.0),
        "2× upsampled": (np.repeat(np.arange(time), 2), 1 / 2),
        "4× upsampled": (np.repeat(np.arange(time), 4), 1 / 4),
        "2× downsampled": (np.arange(0, time, 2), 2.0),
    }
    axis = -1 if tokens else -2
    found = {
        name: View(np.take(batch.inputs, index, axis), np.searchsorted(index, batch.lengths), dt)
        for name, (index, dt) in picked.items()
    }
    found["warped"] = _warped(batch, rng)
    if not tokens:
        for factor in (2, 4):
            found[f"{factor}× interpolated"] = _interpolated(batch, factor)
        pairs = batch.inputs[..., : time // 2 * 2, :]
        mean = pairs.reshape(*pairs.shape[:-2], -1, 2, pairs.shape[-1]).mean(axis=-2)
        found["2× downsampled (mean)"] = View(mean, batch.lengths // 2, 2.0)
    return found


def _warped(batch: Batch, rng: np.random.Generator) -> View:
    """Each sequence warped in time, within its own length."""
    inputs = batch.inputs.copy()
    for one in map(tuple, np.argwhere(batch.lengths)):  # the last batch may have empty rows
        length = batch.lengths[one]
        inputs[one][:length] = inputs[one][warp(length, rng)]
    return View(inputs, batch.lengths, 1.0)


def _interpolated(batch: Batch, factor: int) -> View:
    """Linear interpolation between the centers of the samples."""
    time = batch.inputs.shape[-2]
    place = np.clip((np.arange(time * factor) + 0.5) / factor - 0.5, 0, time - 1)
    left = np.minimum(place.astype(int), time - 2)
    weight = (place - left)[:, None].astype(batch.inputs.dtype)
    values = (1 - weight) * batch.inputs[:, left] + weight * batch.inputs[:, left + 1]
    return View(values, batch.lengths * factor, 1 / factor)


def warp(time: int, rng: np.random.Generator) -> np.ndarray:
    """The sample read at each step, at a rate that varies between about 1/2 and 2."""
    s = (np.arange(time) + 0.5) / time
    waves, phase = rng.integers(1, 3), rng.random()
    passed = np.cumsum(np.exp(np.log(2) * np.sin(2 * np.pi * (waves * s + phase))))
    middle = passed - np.diff(passed, prepend=0) / 2
    return np.minimum((middle / passed[-1] * time).astype(int), time - 1)


def main() -> None:
    ways = [("bidirectional", "mean"), ("causal", "last"), ("causal", "mean")]
    tasks = ("smnist", "listops", "image", "text", "psmnist", "retrieval")
    causal = {"task": "smnist", "direction": "causal", "pooling": "last", "larger": True}
    cases = [causal | {"model": model, "seed": seed} for seed in runs.SEEDS for model in MODELS]
    cases += [
        {"task": task, "model": model, "direction": direction, "pooling": pooling, "seed": seed}
        | {"larger": False}
        for task in tasks
        for seed in runs.SEEDS
        for direction, pooling in (ways if task == "smnist" else ways[:1])
        for model in MODELS
    ]
    runs.run("clock", cases, measure)


if __name__ == "__main__":
    runs.main(main)
