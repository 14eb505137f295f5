"""How far does each of the eight models come with the same data, steps and number of parameters?

`python -m experiments.table`
"""

import functools

from fractal import tasks
from fractal.train import KINDS, bag_of_tokens, majority

from . import runs

TASKS = ("listops", "image", "pathfinder", "text")


def measure(task: str, model: str, seed: int) -> dict:
    """One run, beside what the most frequent class and a bag of tokens reach."""
    first = runs.settings(task, "fractal", seed)
    config = first if model == "fractal" else runs.settings(task, model, seed, like=first)
    run = runs.trained(config)
    return run.summary() | {"examples": config.steps * config.data.batch} | yardsticks(task)


@functools.cache
def yardsticks(task: str) -> dict:
    """What a score must beat."""
    data = tasks.load(task, "mini")
    return {"chance": majority(data), "bag": bag_of_tokens(data)}


if __name__ == "__main__":
    cases = [
        {"task": task, "model": model, "seed": seed}
        for task in TASKS
        for seed in runs.SEEDS
        for model in KINDS
    ]
    runs.run("table", cases, measure)
