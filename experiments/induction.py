"""Induction heads, trained on growing lengths: which models learn it, and how far does it reach?

`python -m experiments.induction`, about 20 minutes of CPU time

The task of `experiments.synthetic`: one special token somewhere in random tokens, and again at the
end, where the token that followed it is to be named. Trained at length 256 from the start, no model
leaves chance in 2,000 steps: of 256 tokens one matters. Here the length of the training sequences
doubles from 16 to 256, with as many steps in all; the trained models are tested at 256 and at
greater lengths.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from fractal.nn import SequenceModel
from fractal.train import parameter_count

from . import cases, runs
from .fitting import fitted
from .synthetic import DEPTH, IDS, WIDTH, induction_heads, mixers

LENGTHS = (16, 32, 64, 128, 256)
LONGER = (1024, 4096)
STEPS, BATCH, TESTS = 400, 32, 512  # steps at each length
_TOKENS = 2**14  # per batch in the test


def measure(model: str, seed: int) -> dict:
    """Accuracy on new sequences, of the greatest training length and of greater ones."""
    net = SequenceModel(
        inputs=IDS, outputs=IDS, width=WIDTH, depth=DEPTH, pooling="none",
        key=jax.random.key(seed), **mixers(LENGTHS[-1])[model],
    )  # fmt: skip
    lengths = iter(np.repeat(LENGTHS, STEPS).tolist())
    steps, lr = STEPS * len(LENGTHS), 1e-3 if model == "transformer" else 3e-3
    net, curve = fitted(
        net, lambda rng: induction_heads(rng, BATCH, next(lengths)), _loss, steps, seed, lr=lr
    )
    return {
        "parameters": parameter_count(net),
        "steps": steps,
        "late_loss": float(np.mean([value for step, value in curve if 10 * step > 9 * steps])),
        "test_accuracy": _accuracy(net, LENGTHS[-1], seed),
        "longer": {str(length): _accuracy(net, length, seed) for length in LONGER},
        "curve": curve,
    }


def _accuracy(net: Any, length: int, seed: int) -> float:
    rng, right = np.random.default_rng([seed, 1]), []
    batch = max(1, _TOKENS // length)
    for _ in range(TESTS // batch):
        test = induction_heads(rng, batch, length)
        right.append(np.asarray(_answers(net, test.inputs).argmax(-1)) == test.labels[:, 0])
    return float(np.mean(right))


@eqx.filter_jit
def _answers(net: Any, inputs: jax.Array) -> jax.Array:
    """Logits (batch, ids) of the last step."""
    return jax.vmap(net)(inputs)[:, -1]


def _loss(net: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    losses = optax.softmax_cross_entropy_with_integer_labels(_answers(net, inputs), labels[:, 0])
    return losses.mean()


def main() -> None:
    models = mixers(LENGTHS[-1])
    chosen = [{"model": model, "seed": seed} for seed in runs.SEEDS for model in models]
    cases.run("induction", chosen, measure)


if __name__ == "__main__":
    cases.main(main)
