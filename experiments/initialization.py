"""Which initialization trains best, early and late, each with its own best range of Δ?

`python -m experiments.initialization`, about an hour of CPU time

Early losses do not differ. Late, the normal spectrum is best on MNIST and images, and the published
one worst; on ListOps the differences are small. On images and MNIST a random B of the same size is
as good; on ListOps it is 1 point worse, within the noise.

Ranges of Δ are tried with seed 0, the shortest one only if the middle one beats the longest; the
range with the best validation accuracy is run with the other seeds. All models have the same gate
and the learning rates of FRACTAL, and FRACTAL has eight bank blocks of order 8. Modes that are no
conjugate pairs need more parameters: 1.15 times as many for the fractional spectrum, 1.7 times for
the published one.
"""

import functools
from typing import Any

import equinox as eqx
import jax

from fractal import tasks
from fractal.nn import FractalSSM
from fractal.train import model_names, register_model

from . import runs
from .results import read_experiment
from .summaries import chosen_ranges

_RANDOM_B = "fractal_random_B"
INITS: dict[str, dict[str, Any]] = {
    "normal": {},
    "fractional": {"init": "fractional"},
    "published": {"init": "published", "imaginary": "none"},
    "published spectrum": {"init": "published", "imaginary": "lin"},
    "s5": {"model": "s5", "gate": "silu", "order": 64},
    "random B": {"model": _RANDOM_B, "order": 8},
}
# Shortest Δ in units of 1/length, and longest Δ.
RANGES = ((2.0, 0.5), (0.2, 0.05), (0.02, 0.005))
TASKS = ("listops", "image", "smnist")


@functools.wraps(FractalSSM)
def random_B(*args: Any, key: Any, **options: Any) -> FractalSSM:
    """The normal spectrum with a random B of the same size, without the gains of its operator."""
    ssm = FractalSSM(*args, key=key, **options)
    drawn = jax.random.normal(jax.random.fold_in(key, 1), ssm.B.shape)
    scale = jax.numpy.sqrt((ssm.B**2).mean())
    return eqx.tree_at(lambda one: one.B, ssm, scale * drawn)


def measure(task: str, init: str, dt_min: float, dt_max: float, seed: int) -> dict:
    if _RANDOM_B not in model_names():
        register_model(_RANDOM_B, random_B, size="order", grain=2, length="length",
                       settings_of="fractal")  # fmt: skip
    default = dt_max == RANGES[0][1]  # the range of `runs.settings`
    dt = {} if default else {"dt_min": dt_min, "dt_max": dt_max}
    config = runs.settings(task, seed=seed, **dt, **INITS[init])
    return runs.trained(config).summary()


def case(task: str, init: str, bounds: tuple[float, float], seed: int) -> dict:
    """The arguments of `measure` for a range of Δ."""
    low, high = bounds
    dt = {"dt_min": low / tasks.load(task, preset="mini").length, "dt_max": high}
    return {"task": task, "init": init, "seed": seed} | dt


def best(task: str, init: str) -> tuple[float, float]:
    """The range with the best validation accuracy of those that were tried."""
    lines = read_experiment(runs.ROOT / "results", "initialization") or []
    same = {"task": task, "init": init, "seed": 0}.items()
    [(chosen, *_)] = chosen_ranges([line for line in lines if same <= line.items()])
    return next(bounds for bounds in RANGES if bounds[1] == chosen["dt_max"])


def main() -> None:
    pairs = [(task, init) for task in TASKS for init in INITS]
    first = [case(*pair, bounds, 0) for pair in pairs for bounds in RANGES[:2]]
    runs.run("initialization", first, measure)
    shorter = [case(*pair, RANGES[2], 0) for pair in pairs if best(*pair) != RANGES[0]]
    runs.run("initialization", shorter, measure)
    for seed in runs.SEEDS[1:]:
        runs.run("initialization", [case(*pair, best(*pair), seed) for pair in pairs], measure)


if __name__ == "__main__":
    runs.main(main)
