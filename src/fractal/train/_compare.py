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
from .._files import write_whole
from .._run_folder import CONFIG, RESULT, is_finished, metric_lines, read_bytes, read_object
from ._config import Config, read_config
from ._loop import load_task, train
from ._models import check_model
from ._parameter_counts import config_parameter_count, match_parameters

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
        resume = (run / CONFIG).exists()
        if resume and read_config(run / CONFIG) != config:
            raise OtherSettings(f"{run} is a run with other settings", argument="folder")
        if is_finished(run):
            result = read_result(run)
        else:
            result = train(config, run, resume=resume, workers=workers)
        _record(folder / "results.jsonl", result)
        yield result


def _record(path: pathlib.Path, result: dict) -> None:
    """Write the line of a run, in place of an earlier one."""
    before = read_bytes(path, None).split(b"\n") if path.exists() else []
    kept = [raw for raw in before if raw.strip() and not _same_run(raw, result)]
    write_whole(path, b"\n".join([*kept, json.dumps(result).encode(), b""]))


def _same_run(raw: bytes, result: dict) -> bool:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return True  # incomplete: it is written again
    names = ("model", "seed")
    return not isinstance(line, dict) or all(line.get(n) == result.get(n) for n in names)


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
    _check_results(results)
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


def _check_results(results: object) -> None:
    needed = ("model", "seed", "steps", "metric", "parameters")
    if not isinstance(results, Sequence) or isinstance(results, str):
        raise UserError(f"must be a list of results, got {results!r:.60}", argument="results")
    for result in results:
        known = isinstance(result, dict) and all(name in result for name in needed)
        if not known or f"test_{result['metric']}" not in result:
            message = f"must be results of train or compare, got {result!r:.60}"
            raise UserError(message, argument="results")


def read_result(run: str | os.PathLike) -> dict[str, Any]:
    """The result.json of a run."""
    return read_object(check_path("run", run) / RESULT)


def learning_curve(run: str | os.PathLike) -> tuple[list[int], list[float]]:
    """Steps and training losses of a run."""
    lines = [line for _, line in metric_lines(check_path("run", run)) if "loss" in line]
    return [int(line["step"]) for line in lines], [line["loss"] for line in lines]


def early_loss(run: str | os.PathLike, steps: int) -> float:
    """Mean training loss over the first tenth of a run, at least its first line."""
    at, losses = _losses(run, steps)
    early = [x for step, x in zip(at, losses, strict=True) if 10 * step <= steps]
    return float(np.mean(early or losses[:1]))


def late_loss(run: str | os.PathLike, steps: int) -> float:
    """Mean training loss over the last tenth of a run, at least its last line."""
    at, losses = _losses(run, steps)
    late = [x for step, x in zip(at, losses, strict=True) if 10 * step > 9 * steps]
    return float(np.mean(late or losses[-1:]))


def _losses(run: str | os.PathLike, steps: int) -> tuple[list[int], list[float]]:
    check_count("steps", steps, 1)
    found = learning_curve(run)
    if not found[0]:
        raise UserError(f"{os.fspath(run)} has no training losses yet")
    return found
