"""The presets `paper` for some steps on a CPU: whether they learn, their time and memory.

`python -m experiments.paper_presets`, about an hour of CPU time, measures the cases that are
missing in results/paper_presets.json

Sequences are those of the tasks at published length, batches smaller than published. Each preset
runs for 200 steps that take turns among 8 batches, whose loss must fall. The time on a GPU is an
estimate, not a measurement: 6 FLOPs per parameter and step of a sequence (2 forward, 4 backward;
the scan is not counted), at an assumed share of the peak.
"""

import dataclasses
import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

import fractal
from fractal import tasks
from fractal.report.table import Cell, Table, markdown
from fractal.tasks import pathfinder
from fractal.train import (
    Config,
    Devices,
    initial_state,
    load_task,
    make_train_step,
    parameter_count,
    preset,
)

from . import code
from .cases import provenance, write_whole
from .summaries import command

# Batch on a CPU, and the length of the sequences.
CASES = {
    "listops": (4, 2048),
    "text": (2, 4096),
    "retrieval": (1, 4000),
    "image": (2, 1024),
    "pathfinder": (2, 1024),
    "pathx": (1, 16384),
    "smnist": (4, 784),
}
MODELS = ("fractal", "s5")
STEPS, BATCHES = 200, 8
_PATHX_IMAGES = 20
PEAK, UTILIZATION = 19.5e12, 0.1  # FLOP/s of an A100 in float32; assumed share of it
_PER_PARAMETER = 6  # FLOPs per step of a sequence, with gradients


def task_of(name: str) -> tasks.Task:
    """The task at published length, on data that is downloaded or generated."""
    if name != "pathx":
        return load_task(preset(name, "laptop"))
    folder = code.ROOT / "runs" / "pathx"
    if not folder.exists():
        size = pathfinder.PATHX["paper"]._replace(examples=_PATHX_IMAGES)
        pathfinder.generate(folder, size, seed=0, workers=1)
    return tasks.load(name, preset="paper", data=folder)


def settings(name: str, model: str) -> Config:
    """The preset with a batch that fits, at its peak learning rate after a short warmup."""
    config = preset(name, "paper", model)
    data = dataclasses.replace(config.data, batch=CASES[name][0])
    optimizer = dataclasses.replace(config.optimizer, warmup=STEPS // 4)
    return dataclasses.replace(config, data=data, optimizer=optimizer, log_every=1)


def measure(name: str, model: str) -> dict:
    """Losses, seconds per step, memory and FLOPs of one preset."""
    fractal.keep_freed_memory()
    config, task, devices = settings(name, model), task_of(name), Devices()
    state = devices.copy(initial_state(config, task))
    parameters, step = parameter_count(state.model), make_train_step(config, task, devices)
    batches = tasks.Batches(task, task.splits.train, config.data.batch, training=True)
    shared, losses, seconds = [devices.share(batches[i]) for i in range(BATCHES)], [], []
    for number in range(1, STEPS + 1):
        batch = shared[number % BATCHES]
        at = devices.copy(np.asarray(number, np.int32))
        start = time.process_time()
        state = step(state, batch, at)
        losses.append(float(state.loss))
        seconds.append(time.process_time() - start)
    return {
        "parameters": parameters,
        "batch": config.data.batch,
        "steps": STEPS,
        "first_loss": float(np.mean(losses[:BATCHES])),
        "last_loss": float(np.mean(losses[-BATCHES:])),
        "finite": bool(np.isfinite(losses).all()),
        "cpu_seconds_per_step": float(np.median(seconds[1:])),
        "compile_seconds": seconds[0],
        "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def gpu_hours(name: str, model: str, parameters: int) -> float:
    """Estimated hours of the published run on one A100, without evaluations."""
    config, documents = preset(name, "paper", model), 2 if name == "retrieval" else 1
    steps = config.steps * config.data.batch * documents * CASES[name][1]
    return _PER_PARAMETER * parameters * steps / (PEAK * UTILIZATION) / 3600


def table(cases: Sequence[dict]) -> Table:
    """What was seen of each preset, and the estimate."""
    rows: list[tuple[Cell, ...]] = [
        (
            case["task"],
            case["model"],
            case["parameters"],
            case["batch"],
            case["steps"],
            f"{case['first_loss']:.2f} → {case['last_loss']:.2f}",
            "yes" if case["finite"] else "no",
            f"{case['cpu_seconds_per_step']:.1f}",
            f"{case['peak_memory_bytes'] / 2**30:.1f}",
            f"{gpu_hours(case['task'], case['model'], case['parameters']):.0f}",
        )
        for case in cases
    ]
    return Table(
        "",
        (
            *("task", "model", "parameters", "batch here", "steps", "loss", "finite"),
            *("CPU seconds per step", "memory in GiB", "estimate: hours on one A100"),
        ),
        rows,
        command("paper_presets"),
    )


def kept() -> list[dict]:
    """The cases in results/paper_presets.json."""
    path = code.ROOT / "results" / "paper_presets.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def page() -> str:
    """The table for the page; empty where nothing has been measured."""
    return markdown(table(cases)) if (cases := kept()) else ""


def main(arguments: list[str]) -> None:
    if arguments:  # one case, in a process of its own: peak memory is that of a process
        if tuple(arguments) not in itertools.product(CASES, MODELS):
            known = f"one of {', '.join(CASES)} and one of {', '.join(MODELS)}"
            print(
                f"a case is a task and a model, {known}: got {' '.join(arguments)}", file=sys.stderr
            )
            sys.exit(2)
        print(json.dumps(measure(*arguments) | {"provenance": provenance()}))
        return
    cases = {(case["task"], case["model"]): case for case in kept()}
    for name, model in itertools.product(CASES, MODELS):
        if cases.get((name, model), {}).get("steps") == STEPS:
            continue
        call = [sys.executable, "-m", "experiments.paper_presets", name, model]
        out = subprocess.run(call, stdout=subprocess.PIPE, check=True, cwd=code.ROOT)
        cases[name, model] = {"task": name, "model": model} | json.loads(out.stdout)
        path = code.ROOT / "results" / "paper_presets.json"
        write_whole(path, (json.dumps([*cases.values()], indent=1) + "\n").encode())
        print(json.dumps(cases[name, model]), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
