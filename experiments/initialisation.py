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
    """All ranges with seed 0, then the best one of each."""
    path = runs.ROOT / "results" / "initialisation.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if seed else []
    chosen = []
    for task in TASKS:
        length = tasks.load(task, "mini").length
        for init in INITS:
            tried = [
                {"task": task, "init": init, "dt_min": low / length, "dt_max": high}
                for low, high in RANGES
            ]
            if seed:

                def validation(case: dict) -> float:
                    same = [x for x in found if (case | {"seed": 0}).items() <= x.items()]
                    return same[0]["validation_accuracy"]

                tried = [max(tried, key=validation)]
            chosen += [case | {"seed": seed} for case in tried]
    return chosen


if __name__ == "__main__":
    for seed in runs.SEEDS:
        runs.run("initialisation", cases(seed), measure)
