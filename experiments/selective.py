"""Do selective rates help on the mini tasks, with either clock?

`python -m experiments.selective`, about an hour of CPU time

The rate at which time passes in each block of the filter bank is 1 (fixed) or computed from the
input of the layer (selective). All else is equal: settings of `runs`, same data, same steps.
"""

from typing import Any

from . import runs

RATES: dict[str, dict[str, Any]] = {"fixed": {}, "selective": {"selective": True}}
CLOCKS = ("uniform", "scale-invariant")
TASKS = ("listops", "psmnist", "smnist", "image", "retrieval", "text", "pathfinder")


def measure(task: str, clock: str, rate: str, seed: int) -> dict:
    return runs.trained(runs.settings(task, seed=seed, clock=clock, **RATES[rate])).summary()


def main() -> None:
    cases = [
        {"task": task, "clock": clock, "rate": rate, "seed": seed}
        for task in TASKS
        for seed in runs.SEEDS
        for clock in CLOCKS
        for rate in RATES
    ]
    runs.run("selective", cases, measure)


if __name__ == "__main__":
    runs.main(main)
