"""The Long Range Arena at its published length, on two cores: FRACTAL and S5, preset `laptop`.

`python -m experiments.laptop [TASK …] [MODEL …]`, about half a day on one core

Runs are made one after another in runs/laptop, all of FRACTAL first, in a folder for each task,
model, seed and state of code and settings. The same command resumes an interrupted run and
continues with the others. Only finished runs have a line.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import sys
import time
from collections.abc import Mapping
from typing import Any

import jax

import fractal
from fractal.train import Config, load_task, preset, train, trivial_baselines

from . import cases, code, results

TASKS = ("smnist", "listops", "image", "text", "psmnist", "pathfinder", "retrieval")
MODELS = ("fractal", "s5")
SEED = 0
RUNS = code.ROOT / "runs" / "laptop"
_CPU = "cpu_seconds.txt"


class CpuTime:
    """A logger that writes the CPU time of a run, summed over all processes that worked on it."""

    def __init__(self, folder: pathlib.Path):
        self._path, self._start = folder / _CPU, time.process_time()
        self._before = cpu_seconds(folder)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Write the time until now."""
        seconds = self._before + time.process_time() - self._start
        self._path.write_text(f"{seconds:.0f}\n", encoding="utf-8")

    def finish(self) -> None:
        """Nothing is left to do."""


def cpu_seconds(folder: pathlib.Path) -> float:
    """The CPU time of a run until its last line of metrics."""
    path = folder / _CPU
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    return float(written or 0)  # empty if the process was killed while it wrote


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def settings(task: str, model: str, seed: int) -> Config:
    """The preset with a seed."""
    return dataclasses.replace(preset(task, "laptop", model), seed=seed)


def folder_of(line: Mapping[str, Any]) -> pathlib.Path:
    """The folder of the run that a line is, or will be, of."""
    return RUNS / "{task}-{model}-{seed}-{code}".format_map(line)


def measure(task: str, model: str, seed: int) -> dict:
    """Train one model, or resume its run, and return its line.

    Its folder has the hash of code and settings when it starts, so that no other run is resumed.
    """
    case = {"task": task, "model": model, "seed": seed}
    line = case | {"code": results.code_of("laptop", case)}
    config, folder = settings(task, model, seed), folder_of(line)
    if not (folder / "predictions.safetensors").exists():  # which is written last
        resumed = (folder / "config.json").exists()
        train(config, folder, resume=resumed, loggers=[CpuTime(folder)], workers=cores())
    return line | summary(config, folder)


def summary(config: Config, folder: pathlib.Path) -> dict:
    """The line of a finished run."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    kept = ("parameters", "steps", "best_step", "validation_accuracy", "test_accuracy", "test_loss")
    baselines = trivial_baselines(load_task(config))
    return {name: result[name] for name in kept} | {
        "pretrain": config.pretrain,
        "examples": (config.steps + config.pretrain) * config.data.batch,
        "hours": round(result["seconds"] / 3600, 2),
        "cpu_hours": round(cpu_seconds(folder) / 3600, 2),
        "cores": cores(),
        "chance": baselines["majority_class"],
        "bag": baselines["bag_of_tokens"],
        "curve": [
            [line["step"], line["validation_accuracy"]]
            for line in map(json.loads, lines)
            if "validation_accuracy" in line
        ],
        "settings": json.loads(config.to_json()),
        "sha256": hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest(),
        "provenance": result["provenance"],
    }


def record(case: dict) -> None:
    """Write the line of a case, unless it has one that is not stale."""
    path = code.ROOT / "results" / "laptop.jsonl"
    same = [line for line in cases.lines(path) if case.items() <= line.items()]
    if any(not results.is_stale("laptop", line) for line in same):
        return
    cases.replace(path, case, measure(**case))


def main(names: list[str]) -> None:
    wrong = [name for name in names if name not in (*TASKS, *MODELS)]
    if wrong:
        known = ", ".join((*TASKS, *MODELS))
        raise ValueError(f"there is no task or model {wrong[0]!r} here: choose from {known}")
    tasks = [name for name in names if name in TASKS] or TASKS
    models = [name for name in names if name in MODELS] or MODELS
    jax.config.update("jax_compilation_cache_dir", str(code.ROOT / "runs" / "compiled"))
    fractal.keep_freed_memory()
    for model in models:
        for task in tasks:
            case = {"task": task, "model": model, "seed": SEED}
            print(f"laptop: {task}, {model}", file=sys.stderr, flush=True)
            record(case)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, KeyboardInterrupt) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
