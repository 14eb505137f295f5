"""All eight models on four mini tasks, with the same data, steps and parameter count.

`python -m experiments.models`, over two hours of CPU time, most of it for attention

FRACTAL and the Legendre memory unit lead on ListOps, FRACTAL and S4D on images, by small margins.
On text no model exceeds a bag of tokens in so few steps. On Pathfinder all are at chance level.

A run has 20 to 1,000 steps of 32 or 50 examples and 17,000 to 22,000 parameters (`runs.STEPS`).
"""

import functools

from fractal import tasks
from fractal.train import bag_of_tokens, majority_class

from . import runs

TASKS = ("listops", "image", "pathfinder", "text")
MODELS = ("fractal", "s5", "s4", "s4d", "dss", "lmu", "transformer", "performer")


def measure(task: str, model: str, seed: int) -> dict:
    """One run, and the scores of the trivial baselines."""
    first = runs.settings(task, "fractal", seed)
    config = first if model == "fractal" else runs.settings(task, model, seed, like=first)
    run = runs.trained(config)
    return run.summary() | {"examples": config.steps * config.data.batch} | trivial_baselines(task)


@functools.cache
def trivial_baselines(task: str) -> dict:
    """Test accuracy of the most frequent class and of a bag of tokens."""
    data = tasks.load(task, preset="mini")
    return {"chance": majority_class(data), "bag": bag_of_tokens(data)}


def main() -> None:
    cases = [
        {"task": task, "model": model, "seed": seed}
        for task in TASKS
        for seed in runs.SEEDS
        for model in MODELS
    ]
    runs.run("models", cases, measure)


if __name__ == "__main__":
    runs.main(main)
