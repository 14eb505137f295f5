"""Selective copying and induction heads: does input-dependent time help?

`python -m experiments.synthetic`, about three hours of CPU time

The two synthetic tasks of the Mamba paper, with 16 token ids. *Selective copying*: 16 data tokens
at random places among noise tokens; then 16 markers, at which the data tokens are to be repeated in
order. *Induction heads*: one special token somewhere in random tokens, and again at the end, where
the token that followed it is to be named. Both are drawn anew in every train step, and the first
has 16 labels per sequence: they are tasks of this experiment, not of `fractal.tasks`, whose tasks
are finite sets of sequences with one label each. The paper trains for up to 400,000 steps; runs
here are hundreds of times shorter. Models trained at length 256 are tested at 4,096, too. Fewer
runs where they take hours or show nothing: induction heads, on which no model leaves chance, have
one seed and length 256; at 4,096 there is one seed, and no Transformer, which would take ten hours.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax

from fractal import baselines
from fractal.nn import FractalSSM, SequenceModel
from fractal.train import parameter_count

from . import runs
from .fitting import fitted

IDS = 16
NOISE, MARKER = 0, IDS - 1  # the marker is also the special token of induction heads
COPIED = 16
LENGTHS = (256, 4096)
BATCH, STEPS, TESTS = {256: 32, 4096: 4}, {256: 2000, 4096: 8000}, 512
WIDTH, DEPTH = 32, 2
_ATTENTION = functools.partial(baselines.Attention, causal=True, heads=1)


class Drawn(NamedTuple):
    """Token ids (batch, time), and labels of the last steps (batch, answers)."""

    inputs: np.ndarray
    labels: np.ndarray


def selective_copying(rng: np.random.Generator, count: int, length: int) -> Drawn:
    """`length` tokens, of which 16 are data, and 16 markers."""
    places = np.sort(rng.permuted(np.tile(np.arange(length), (count, 1)), axis=1)[:, :COPIED])
    data = rng.integers(NOISE + 1, MARKER, (count, COPIED))
    inputs = np.full((count, length + COPIED), NOISE)
    inputs[:, length:] = MARKER
    np.put_along_axis(inputs, places, data, axis=1)
    return Drawn(inputs.astype(np.int32), data.astype(np.int32))


def induction_heads(rng: np.random.Generator, count: int, length: int) -> Drawn:
    """`length` tokens, the last of them special."""
    inputs = rng.integers(0, MARKER, (count, length))
    places = rng.integers(0, length - 2, count)
    inputs[np.arange(count), places] = MARKER
    inputs[:, -1] = MARKER
    labels = inputs[np.arange(count), places + 1][:, None]
    return Drawn(inputs.astype(np.int32), labels.astype(np.int32))


TASKS = {"selective copying": selective_copying, "induction heads": induction_heads}


def mixers(length: int) -> dict[str, dict[str, Any]]:
    """The parts of each model, of about the same parameter count."""
    ours = functools.partial(FractalSSM, order=8, length=length)
    free = functools.partial(ours, clock="scale-invariant")
    dt = {"dt_min": 2 / length, "dt_max": 0.5}
    block = functools.partial(baselines.TransformerBlock, attention=_ATTENTION, mlp=32)
    return {
        "fractal, uniform": {"mixer": ours},
        "fractal, uniform, selective": {"mixer": functools.partial(ours, selective=True)},
        "s5": {"mixer": functools.partial(baselines.S5, order=80, **dt), "gate": "half_glu2"},
        "transformer": {"block": block, "positions": "sinusoid", "final_norm": True},
        "fractal, scale-invariant": {"mixer": free},
        "fractal, scale-invariant, selective": {"mixer": functools.partial(free, selective=True)},
        "s4d": {"mixer": functools.partial(baselines.S4D, order=122, **dt), "gate": "full_glu"},
    }


def measure(task: str, model: str, length: int, seed: int) -> dict:
    """Accuracy on new sequences, of this length and of greater ones."""
    draw = functools.partial(TASKS[task], count=BATCH[length], length=length)
    net = SequenceModel(
        inputs=IDS, outputs=IDS, width=WIDTH, depth=DEPTH, pooling="none",
        key=jax.random.key(seed), **mixers(length)[model],
    )  # fmt: skip
    lr = 1e-3 if model == "transformer" else 3e-3
    net, curve = fitted(net, draw, _loss, STEPS[length], seed, lr=lr)
    late = float(np.mean([loss for step, loss in curve if 10 * step > 9 * STEPS[length]]))
    return {
        "parameters": parameter_count(net),
        "steps": STEPS[length],
        "late_loss": late,
        "test_accuracy": _accuracy(net, task, length, seed),
        "longer": {str(one): _accuracy(net, task, one, seed) for one in LENGTHS if one > length},
        "curve": curve,
    }


def _accuracy(net: Any, task: str, length: int, seed: int) -> float:
    rng, right = np.random.default_rng([seed, 1]), []
    for _ in range(TESTS // BATCH[length]):
        test = TASKS[task](rng, BATCH[length], length)
        right.append(np.asarray(_answers(net, test.inputs, test.labels).argmax(-1)) == test.labels)
    return float(np.mean(right))


@eqx.filter_jit
def _answers(net: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Logits (batch, answers, ids) of the last steps."""
    return jax.vmap(net)(inputs)[:, -labels.shape[1] :]


def _loss(net: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    logits = _answers(net, inputs, labels)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def main() -> None:
    first, *others = runs.SEEDS
    short, long = LENGTHS
    copying = next(iter(TASKS))
    chosen = [
        *((task, model, short, first) for task in TASKS for model in mixers(short)),
        *((copying, model, short, seed) for seed in others for model in mixers(short)),
        *((copying, model, long, first) for model in mixers(long) if model != "transformer"),
    ]
    cases = [
        {"task": task, "model": model, "length": length, "seed": seed}
        for task, model, length, seed in chosen
    ]
    runs.run("synthetic", cases, measure)


if __name__ == "__main__":
    runs.main(main)
