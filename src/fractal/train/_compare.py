"""Several models on one task: the same data, steps, width and number of parameters."""

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .._errors import UserError
from ._config import Config, from_json
from ._loop import load_task, train
from ._models import check_names, matched, size_of

_WITHIN = 0.1  # of the first model's number of parameters


def compare(configs: Sequence[Config], folder: pathlib.Path, workers: int) -> Iterator[dict]:
    """Train all runs that are not done yet, in order, and give the result of each.

    Each run has a folder of its own, results.jsonl a line for each. What an interruption left
    undone is gone on with.
    """
    results = folder / "results.jsonl"
    for config in configs:
        run = folder / f"{config.model.name}-{config.seed}"
        done = run / "result.json"
        if not done.exists():
            resume = (run / "config.json").exists()
            train(config, run, resume=resume, workers=workers)
        elif from_json(run / "config.json") != config:
            raise UserError(f"{run} is a run with other settings: choose another --out")
        result = json.loads(done.read_bytes())
        _note(results, result)
        yield result


def _note(path: pathlib.Path, result: dict) -> None:
    """Append the result, once."""
    line = json.dumps(result) + "\n"
    if not path.exists() or line not in path.read_text(encoding="utf-8").splitlines(keepends=True):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)


def alike(
    names: Sequence[str], seeds: int, settings: Callable[[str], Config], workers: int
) -> list[Config]:
    """A run for each seed and model, all with about the first model's number of parameters."""
    for name in names:
        check_names(settings(name).model)
    first = settings(names[0])
    task = load_task(first, workers)
    target = size_of(first.model, task)
    configs = []
    for name in names:
        config = settings(name)
        if name != names[0]:
            config = dataclasses.replace(config, model=matched(config.model, task, target))
            found = size_of(config.model, task)
            if abs(found - target) > _WITHIN * target:
                raise UserError(
                    f"{name} cannot be made as large as {names[0]}: {found:,} parameters, not "
                    f"{target:,}; name it first, or change --model.width"
                )
        configs.append(config)
    return [dataclasses.replace(config, seed=seed) for seed in range(seeds) for config in configs]


def summary(results: Sequence[dict], folder: pathlib.Path) -> list[dict]:
    """Mean and deviation over the seeds of each model; early loss is that of the first tenth."""
    table = []
    for name in dict.fromkeys(result["model"] for result in results):
        own = [result for result in results if result["model"] == name]
        accuracies = [result["test_accuracy"] for result in own]
        early = [early_loss(folder / f"{name}-{result['seed']}", result["steps"]) for result in own]
        table.append(
            {
                "model": name,
                "parameters": own[0]["parameters"],
                "seeds": len(own),
                "test_accuracy": float(np.mean(accuracies)),
                "deviation": float(np.std(accuracies, ddof=1)) if len(own) > 1 else None,
                "early_loss": float(np.mean(early)),
            }
        )
    return table


def curve(run: pathlib.Path) -> tuple[list[int], list[float]]:
    """Steps and training losses of a run."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    points = [(line["step"], line["loss"]) for line in lines if "loss" in line]
    return [step for step, _ in points], [loss for _, loss in points]


def early_loss(run: pathlib.Path, steps: int) -> float:
    """Mean training loss over the first tenth of a run."""
    at, losses = curve(run)
    return float(np.mean([x for step, x in zip(at, losses, strict=True) if 10 * step <= steps]))
