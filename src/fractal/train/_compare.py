"""Several models on one task: the same data, steps, width and parameter count."""

import dataclasses
import json
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._checks import check_count, check_path, check_type
from .._errors import UserError
from ._config import Config, read_config
from ._loop import load_task, train
from ._models import check_model, config_parameter_count, match_parameters

_WITHIN = 0.1  # of the first model's parameter count
_MOST_SEEDS = 1000


class OtherSettings(UserError):
    """A run of a comparison that was made with other settings."""


def compare(
    configs: Sequence[Config], folder: str | os.PathLike, *, workers: int = 1
) -> Iterator[dict[str, Any]]:
    """Train the runs of a comparison in order, and yield the result of each.

    Each run has the folder `MODEL-SEED`; results.jsonl has one line per run. Finished runs are not
    repeated, and interrupted ones are resumed.

    **Arguments:**

    - `configs`: the settings of the runs, such as `matched_configs` returns.
    - `folder`: folder of the comparison.
    - `workers`: number of processes that generate data.
    """
    configs = _checked(configs)
    runs = [f"{config.model.name}-{config.seed}" for config in configs]
    if len(set(runs)) < len(runs):
        twice = next(run for run in runs if runs.count(run) > 1)
        raise UserError(f"contain {twice} twice: one run per model and seed", argument="configs")
    folder = check_path("folder", folder)
    return _compared(configs, [folder / run for run in runs], folder, workers)


def _compared(
    configs: Sequence[Config], runs: Sequence[pathlib.Path], folder: pathlib.Path, workers: int
) -> Iterator[dict[str, Any]]:
    for config, run in zip(configs, runs, strict=True):
        resume = (run / "config.json").exists()
        if resume and read_config(run / "config.json") != config:
            raise OtherSettings(f"{run} is a run with other settings", argument="folder")
        if (run / "result.json").exists():
            result = read_result(run)
        else:
            result = train(config, run, resume=resume, workers=workers)
        _append(folder / "results.jsonl", result)
        yield result


def _append(path: pathlib.Path, result: dict) -> None:
    """Append the result, once."""
    line = json.dumps(result) + "\n"
    if not path.exists() or line not in path.read_text(encoding="utf-8").splitlines(keepends=True):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)


def matched_configs(configs: Sequence[Config], *, seeds: int = 1, workers: int = 1) -> list[Config]:
    """Settings with a matched parameter count, repeated for several seeds.

    **Arguments:**

    - `configs`: one per model. The first sets the parameter count.
    - `seeds`: number of seeds, from 0.
    - `workers`: number of processes that generate data.
    """
    first, *others = _checked(configs)
    check_count("seeds", seeds, 1, _MOST_SEEDS)
    for config in (first, *others):
        check_model(config.model)
    task = load_task(first, workers=workers)
    target = config_parameter_count(first.model, task)
    found = [first]
    for config in others:
        model = match_parameters(config.model, task, target)
        count = config_parameter_count(model, task)
        if abs(count - target) > _WITHIN * target:
            raise UserError(
                f"{model.name} cannot match the parameter count of {first.model.name}: {count:,}, "
                f"not {target:,}; put it first, or change the width",
                argument="model.width",
            )
        found.append(dataclasses.replace(config, model=model))
    return [dataclasses.replace(config, seed=seed) for seed in range(seeds) for config in found]


def _checked(configs: object) -> list[Config]:
    if not isinstance(configs, Sequence) or not configs:
        raise UserError("must be a list of Config, not empty", argument="configs")
    for config in configs:
        check_type("configs", config, Config)
    return list(configs)


def summarize(results: Sequence[dict], folder: str | os.PathLike) -> list[dict[str, Any]]:
    """Mean and standard deviation over the seeds of each model of a comparison.

    `early_loss` is the mean training loss over the first tenth of the steps.
    """
    folder, table = check_path("folder", folder), []
    for name in dict.fromkeys(result["model"] for result in results):
        own = [result for result in results if result["model"] == name]
        metric = own[0]["metric"]
        values = [result[f"test_{metric}"] for result in own]
        early = [early_loss(folder / f"{name}-{result['seed']}", result["steps"]) for result in own]
        table.append(
            {
                "model": name,
                "parameters": own[0]["parameters"],
                "seeds": len(own),
                "metric": metric,
                f"test_{metric}": float(np.mean(values)),
                "deviation": float(np.std(values, ddof=1)) if len(own) > 1 else None,
                "early_loss": float(np.mean(early)),
            }
        )
    return table


def read_result(run: str | os.PathLike) -> dict[str, Any]:
    """The result.json of a run."""
    path = check_path("run", run) / "result.json"
    try:
        result = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} is not JSON") from None
    check_type(f"{path}", result, dict)
    return result


def learning_curve(run: str | os.PathLike) -> tuple[list[int], list[float]]:
    """Steps and training losses of a run."""
    path = check_path("run", run) / "metrics.jsonl"
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        points = [(int(line["step"]), float(line["loss"])) for line in lines if "loss" in line]
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UserError(f"{path} contains no metrics") from None
    return [step for step, _ in points], [loss for _, loss in points]


def early_loss(run: str | os.PathLike, steps: int) -> float:
    """Mean training loss over the first tenth of a run, at least its first line."""
    at, losses = learning_curve(run)
    early = [x for step, x in zip(at, losses, strict=True) if 10 * step <= steps]
    return float(np.mean(early or losses[:1]))
