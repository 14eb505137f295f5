"""How experiments are run: each case on a core of its own, one line of JSON per case.

A case is measured if results/NAME.jsonl has no line for it, or a stale one, which is replaced;
missing ones come first. An interrupted experiment continues when it is called again. Models are
trained by `fractal.train.compare` in runs/experiments, by settings and code, so that experiments
share them.
"""

import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import fractal
from fractal._cores import cores
from fractal._errors import UserError
from fractal._files import write_whole
from fractal._provenance import provenance
from fractal._run_folder import is_finished
from fractal.tasks import Task
from fractal.train import (
    Config,
    compare,
    config_parameter_count,
    early_loss,
    late_loss,
    learning_curve,
    load_task,
    match_parameters,
    preset,
    with_steps,
)

from . import code, results

ROOT = pathlib.Path(__file__).parent.parent
SEEDS = (0, 1, 2)
# Small models and short runs: a minute or less on one core of the machine the results are from.
WIDTH, ORDER = 32, 8
STEPS = {
    "listops": 1000,
    "text": 300,
    "retrieval": 800,
    "image": 400,
    "pathfinder": 20,  # no model learns it in minutes
    "smnist": 400,
    "psmnist": 400,
}
_SHORTEST_DT = 2.0  # divided by the length of the sequences: the slowest mode then spans them
_LONGEST_DT = 0.5


def main(experiment: Callable[[], None]) -> None:
    """Run an experiment from the command line; an error of the user is one line."""
    try:
        if sys.argv[1:]:
            raise UserError(f"experiments take no arguments, got {' '.join(sys.argv[1:])}")
        experiment()
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def run(name: str, cases: Sequence[dict], measure: Callable[..., dict]) -> None:
    """Measure the cases that are missing or stale in results/NAME.jsonl: `measure(**case)`."""
    path = ROOT / "results" / f"{name}.jsonl"
    kept = _lines(path)
    fresh = [line for line in kept if not results.is_stale(name, line)]
    todo = [case for case in cases if not _among(case, fresh)]
    todo.sort(key=lambda case: _among(case, kept))
    origin = {"code": code.current(name), "provenance": provenance()}
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / "runs" / "compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    context, own = multiprocessing.get_context("spawn"), cores()
    free = context.Queue()
    for core in own:
        free.put(core)
    with concurrent.futures.ProcessPoolExecutor(len(own), context, _pin, (free,)) as pool:
        waiting = {pool.submit(_timed, measure, case): case for case in todo}
        for count, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            if future.exception():
                pool.shutdown(cancel_futures=True)
            case = waiting[future]
            line = case | future.result() | origin
            _replace(path, case, line)
            named = ", ".join(str(value) for value in case.values())
            print(f"{name} {count}/{len(todo)}: {named}: {line['seconds']} s", file=sys.stderr)


def _lines(path: pathlib.Path) -> list[dict]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _among(case: dict, lines: list[dict]) -> bool:
    return any(case.items() <= line.items() for line in lines)


def _replace(path: pathlib.Path, case: dict, line: dict) -> None:
    """Put the line in the place of the case's earlier ones, or at the end."""
    found, placed = [], False
    for old in _lines(path):
        if not case.items() <= old.items():
            found.append(old)
        elif not placed:
            found.append(line)
            placed = True
    found += [] if placed else [line]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found)
    write_whole(path, text.encode())


def _pin(free: Any) -> None:
    """One core per process, so that XLA starts one thread. macOS does not support it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {free.get()})
    fractal.keep_freed_memory()


def _timed(measure: Callable[..., dict], case: dict) -> dict:
    start = time.process_time()
    found = measure(**case)
    return {"seconds": round(time.process_time() - start, 1)} | found


class Trained(NamedTuple):
    """A trained model, its task, its scores, its learning curve [step, loss], and its CPU time."""

    folder: pathlib.Path
    model: fractal.nn.SequenceModel
    task: Task
    scores: dict
    curve: list[list[float]]
    seconds: float | None

    def summary(self) -> dict:
        """Scores, and the mean loss over the first and the last tenth of the curve."""
        kept = ("parameters", "steps", "validation_accuracy", "test_accuracy")
        return {name: self.scores[name] for name in kept} | {
            "early_loss": early_loss(self.folder, self.scores["steps"]),
            "late_loss": late_loss(self.folder, self.scores["steps"]),
            "curve": self.curve,
            "seconds": self.seconds,
        }


def settings(
    task: str,
    model: str = "fractal",
    seed: int = 0,
    like: Config | None = None,
    steps: int | None = None,
    batch: int | None = None,
    **changes: Any,
) -> Config:
    """A short run of a narrower mini preset; `changes` are of its model, or options of its mixer.

    Every model has step sizes Δ in [2/length, 1/2] and about as many parameters as `like`, and is
    evaluated after its last step.
    """
    config = with_steps(preset(task, "mini", model), steps or STEPS[task])
    size = dataclasses.replace(config.data, batch=batch or config.data.batch)
    fields = {field.name for field in dataclasses.fields(config.model)}
    options = {"order": ORDER} if model == "fractal" else {}  # in place of the preset's options
    options |= {k: v for k, v in changes.items() if k not in fields}
    data = load_task(config)
    if model in ("s5", "s4", "s4d", "dss"):  # `FractalSSM` derives them from the length itself
        options = {"dt_min": _SHORTEST_DT / data.length, "dt_max": _LONGEST_DT} | options
    own = {"width": WIDTH} | {k: v for k, v in changes.items() if k in fields}
    chosen = dataclasses.replace(config.model, options=options, **own)
    if like is not None:
        target = config_parameter_count(like.model, data)
        chosen = match_parameters(chosen, data, target)
    end = {"evaluate_every": config.steps, "checkpoint_every": config.steps}
    return dataclasses.replace(config, data=size, model=chosen, seed=seed, **end)


def learned_alphas(model: fractal.nn.SequenceModel) -> list[float]:
    """α of all bank blocks of all layers."""
    found = [block.mixer.bank.alphas for block in model.blocks]
    return [round(float(alpha), 4) for alphas in found for alpha in alphas]


def trained(config: Config) -> Trained:
    """The model of these settings: from runs/experiments, or trained now."""
    name = hashlib.sha256((config.to_json() + code.training()).encode()).hexdigest()[:16]
    folder = ROOT / "runs" / "experiments" / f"{config.data.task}-{config.model.name}-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "seconds"  # missing after an interruption at the very end of a run
    start = time.process_time()
    run_folder = folder / f"{config.model.name}-{config.seed}"
    finished = is_finished(run_folder)
    with (folder / "log").open("a") as log, contextlib.redirect_stderr(log):
        (scores,) = compare([config], folder)
    if not finished:
        kept.write_text(f"{time.process_time() - start:.1f}")
    curve = zip(*learning_curve(run_folder), strict=True)
    return Trained(
        run_folder,
        fractal.load(run_folder / "model.safetensors"),
        load_task(config),
        scores,
        [[step, round(loss, 4)] for step, loss in curve],
        float(kept.read_text()) if kept.exists() else None,
    )
