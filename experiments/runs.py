"""How experiments are run: every case once, a core each, one line of JSON for what came out.

A case that results/NAME.jsonl holds is not measured again, so an experiment that was stopped goes
on when it is called again. Trained models are kept in runs/experiments, by their settings and the
code that trained them: experiments that need the same one share it.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
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
from fractal._allocator import keep_freed_memory
from fractal._errors import UserError
from fractal.tasks import Task
from fractal.train import Config, curve, load_task, matched, preset, shortened, size_of, train

ROOT = pathlib.Path(__file__).parent.parent
SEEDS = (0, 1, 2)
# Small models and short runs: a minute or less on one core of the machine the results are from.
WIDTH, ORDER = 32, 8
STEPS = {
    "listops": 1000,
    "text": 300,
    "retrieval": 800,
    "image": 400,
    "pathfinder": 20,  # nothing learns it in minutes
    "smnist": 400,
    "psmnist": 400,
}
_TRAINING = ("theory", "nn", "baselines", "tasks", "train")  # the code that decides a model
_SHORTEST_DT = 2.0  # divided by the length of the sequences: the slowest mode then spans them
_LONGEST_DT = 0.5


def main(experiment: Callable[[], None]) -> None:
    """Run an experiment from the command line, where a mistake of the user is one line."""
    try:
        if sys.argv[1:]:
            raise UserError(f"experiments take no arguments, got {' '.join(sys.argv[1:])}")
        experiment()
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def run(name: str, cases: Sequence[dict], measure: Callable[..., dict]) -> None:
    """Measure the cases that are missing in results/NAME.jsonl: `measure(**case)`."""
    path = ROOT / "results" / f"{name}.jsonl"
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    missing = [case for case in cases if not any(case.items() <= line.items() for line in done)]
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / "runs" / "compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    context, cores = multiprocessing.get_context("spawn"), _cores()
    free = context.Queue()
    for core in cores:
        free.put(core)
    with concurrent.futures.ProcessPoolExecutor(len(cores), context, _keep_to, (free,)) as pool:
        waiting = {pool.submit(_timed, measure, case): case for case in missing}
        for count, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            if future.exception():
                pool.shutdown(cancel_futures=True)
            line = waiting[future] | future.result()
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")
            told = ", ".join(str(value) for value in waiting[future].values())
            print(f"{name} {count}/{len(missing)}: {told}: {line['seconds']} s", file=sys.stderr)


def _cores() -> Sequence[int]:
    """What this program may use; all there are, where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return range(os.cpu_count() or 1)


def _keep_to(free: Any) -> None:
    """One core for each process: XLA then starts one thread. macOS has no way to ask for it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {free.get()})
    keep_freed_memory()


def _timed(measure: Callable[..., dict], case: dict) -> dict:
    began = time.process_time()
    found = measure(**case)
    return {"seconds": round(time.process_time() - began, 1)} | found


class Trained(NamedTuple):
    """A model, its task, its scores, [step, training loss] every ten steps, and its CPU time."""

    model: fractal.nn.SequenceModel
    task: Task
    scores: dict
    curve: list[list[float]]
    seconds: float | None

    def summary(self) -> dict:
        """What all experiments on training keep of a run; early and late are tenths of it."""
        losses = [loss for _, loss in self.curve]
        tenth = max(1, len(losses) // 10)
        kept = ("parameters", "steps", "validation_accuracy", "test_accuracy")
        return {name: self.scores[name] for name in kept} | {
            "early_loss": sum(losses[:tenth]) / tenth,
            "late_loss": sum(losses[-tenth:]) / tenth,
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

    Every model takes the time steps [2/length, 1/2] and as many parameters as `like`, and is judged
    as it is at the end.
    """
    config = shortened(preset(task, "mini", model), steps or STEPS[task])
    size = dataclasses.replace(config.data, batch=batch or config.data.batch)
    fields = {field.name for field in dataclasses.fields(config.model)}
    options = {"order": ORDER} if model == "fractal" else {}  # the presets may have other ones
    options |= {k: v for k, v in changes.items() if k not in fields}
    data = load_task(config)
    if model in ("s5", "s4", "s4d", "dss"):  # `FractalSSM` takes them from the length itself
        options = {"dt_min": _SHORTEST_DT / data.length, "dt_max": _LONGEST_DT} | options
    own = {"width": WIDTH} | {k: v for k, v in changes.items() if k in fields}
    chosen = dataclasses.replace(config.model, options=options, **own)
    if like is not None:
        chosen = matched(chosen, data, size_of(like.model, data))
    end = {"evaluate_every": config.steps, "checkpoint_every": config.steps}
    return dataclasses.replace(config, data=size, model=chosen, seed=seed, **end)


def learned_alphas(model: fractal.nn.SequenceModel) -> list[float]:
    """α of all blocks of all layers."""
    found = [block.mixer.bank.alphas for block in model.blocks]
    return [round(float(alpha), 4) for alphas in found for alpha in alphas]


def trained(config: Config) -> Trained:
    """The model that these settings lead to: the one kept in runs/experiments, or a new one."""
    name = hashlib.sha256(config.to_json().encode() + _code()).hexdigest()[:16]
    folder = ROOT / "runs" / "experiments" / f"{config.data.task}-{config.model.name}-{name}"
    if not (folder / "result.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        with (folder / "log").open("a") as log, contextlib.redirect_stderr(log):
            train(config, folder, resume=(folder / "config.json").exists())
        (folder / "seconds").write_text(f"{time.process_time() - began:.1f}")
    scores = json.loads((folder / "result.json").read_text())
    points = [[step, round(loss, 4)] for step, loss in zip(*curve(folder), strict=True)]
    model = fractal.load(folder / "model.safetensors")
    kept = folder / "seconds"  # missing where a run was stopped at its very end
    seconds = float(kept.read_text()) if kept.exists() else None
    return Trained(model, load_task(config), scores, points, seconds)


@functools.cache
def _code() -> bytes:
    """What decides a model besides its settings: a default that changes makes it another one."""
    package = pathlib.Path(fractal.__file__).parent
    files = (path for part in _TRAINING for path in sorted((package / part).rglob("*.py")))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).digest()
