"""Do selective rates help on ListOps with the model and the steps of the preset `mini`?

`python -m experiments.full_budget`, about 40 minutes of CPU time

ListOps is the one mini task on which selective rates help in short runs of a smaller model
(`experiments.selective`). All else is equal: the preset, with the uniform clock.
"""

import dataclasses

from fractal.train import Config, preset

from . import runs
from .selective import RATES

TASK, CLOCK = "listops", "uniform"


def settings(task: str, clock: str, rate: str, seed: int) -> Config:
    """The preset with this clock and rate."""
    config = preset(task, "mini")
    options = config.model.options | {"clock": clock} | RATES[rate]
    model = dataclasses.replace(config.model, options=options)
    return dataclasses.replace(config, model=model, seed=seed)


def measure(task: str, clock: str, rate: str, seed: int) -> dict:
    return runs.trained(settings(task, clock, rate, seed)).summary()


def main() -> None:
    cases = [
        {"task": TASK, "clock": CLOCK, "rate": rate, "seed": seed}
        for seed in runs.SEEDS
        for rate in RATES
    ]
    runs.run("full_budget", cases, measure)


if __name__ == "__main__":
    runs.main(main)
