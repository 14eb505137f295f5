"""Short runs of small models, which experiments share.

Models are trained by `fractal.train.compare` in runs/experiments, by settings and code.
"""

import contextlib
import dataclasses
import hashlib
import pathlib
import time
from typing import Any, NamedTuple

import fractal
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

from . import code
from .cases import main as main
from .cases import run as run

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
