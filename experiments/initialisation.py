"""Which initialisation trains best, early and late, each with its own best range of Δ?

`python -m experiments.initialisation`

The ranges are tried with seed 0; the one with the best validation accuracy goes on with the other
seeds. All models have the same gate, and eight blocks of order 8 where they are FRACTAL's. Modes
that are no conjugate pairs take more parameters: 1.15 times as many for the fractional spectrum,
1.7 times for the published one. The learning rates are FRACTAL's for all.
"""

import functools
import json
from typing import Any

import equinox as eqx
import jax

from fractal import tasks
from fractal.nn import FractalSSM
from fractal.train import KINDS

from . import runs

INITS: dict[str, dict[str, Any]] = {
    "normal": {},
    "fractional": {"init": "fractional"},
    "published": {"init": "published", "imaginary": "none"},
    "published spectrum": {"init": "published", "imaginary": "lin"},
    "s5": {"model": "s5", "gate": "silu", "order": 64},
    "random B": {"model": "random B", "order": 8},
}
# Shortest and longest Δ, in units of 1/length and 1.
RANGES = ((2.0, 0.5), (0.2, 0.05))
TASKS = ("listops", "image", "smnist")


@functools.wraps(FractalSSM)
def random_B(*args: Any, key: Any, **options: Any) -> FractalSSM:
    """The normal spectrum, without the gains of its operator: B is as large, and random."""
    ssm = FractalSSM(*args, key=key, **options)
    drawn = jax.random.normal(jax.random.fold_in(key, 1), ssm.B.shape)
    scale = jax.numpy.sqrt((ssm.B**2).mean())
    return eqx.tree_at(lambda one: one.B, ssm, scale * drawn)


def measure(task: str, init: str, dt_min: float, dt_max: float, seed: int) -> dict:
    """One run."""
    KINDS.setdefault("random B", KINDS["fractal"]._replace(mixer=random_B))
    usual = dt_max == RANGES[0][1]  # what `runs.settings` chooses itself
    dt = {} if usual else {"dt_min": dt_min, "dt_max": dt_max}
    config = runs.settings(task, seed=seed, **dt, **INITS[init])
    return runs.trained(config).summary()


def cases(seed: int) -> list[dict]:
    """All ranges with seed 0; of each task and initialisation the best one with the others."""
    pairs = [(task, init) for task in TASKS for init in INITS]
    if seed == 0:
        return [case for task, init in pairs for case in ranges(task, init, seed)]
    path = runs.ROOT / "results" / "initialisation.jsonl"
    tried = [json.loads(line) for line in path.read_text().splitlines()]
    chosen = []
    for task, init in pairs:
        same = {"task": task, "init": init, "seed": 0}.items()
        first = [line for line in tried if same <= line.items()]
        best = max(first, key=lambda line: line["validation_accuracy"])
        chosen += [c for c in ranges(task, init, seed) if c["dt_max"] == best["dt_max"]]
    return chosen


def ranges(task: str, init: str, seed: int) -> list[dict]:
    """A case for each range of Δ."""
    length = tasks.load(task, "mini").length
    case = {"task": task, "init": init, "seed": seed}
    return [case | {"dt_min": low / length, "dt_max": high} for low, high in RANGES]


if __name__ == "__main__":
    for seed in runs.SEEDS:
        runs.run("initialisation", cases(seed), measure)
