"""How far does each of the eight models come with the same data, steps and number of parameters?

`python -m experiments.table`, over two hours of CPU time, most of it for attention

FRACTAL and the Legendre memory unit are ahead on ListOps, FRACTAL and S4D on images, by little. On
text no model beats a bag of tokens in so few steps, and Pathfinder is learned by none.

A run has 20 to 1,000 steps of 32 or 50 examples and 17,000 to 22,000 parameters (`runs.STEPS`).
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
    data = tasks.load(task, preset="mini")
    return {"chance": majority(data), "bag": bag_of_tokens(data)}


def main() -> None:
    """All cases."""
    cases = [
        {"task": task, "model": model, "seed": seed}
        for task in TASKS
        for seed in runs.SEEDS
        for model in KINDS
    ]
    runs.run("table", cases, measure)


if __name__ == "__main__":
    runs.main(main)
