"""What leaves chance on Pathfinder, and after how many examples?

`python -m experiments.pathfinder`, about two and a half hours of CPU time

Models for 1,500 steps of 64 images: on contours of 6 dashes, with one change at a time, and from
the start on contours of 14 dashes, as the task has them. They have 68,000 to 84,000 parameters;
those with twice as many modes have 134,000. The curve is the accuracy on the validation set.
"""

import json
from typing import Any

from fractal.train import Config, DataConfig, ModelConfig, OptimizerConfig

from . import runs

EASIER, TASK = "pathfinder_6", "pathfinder"  # contours of 6 and of 14 dashes
STEPS, EVERY, BATCH = 1500, 250, 64
_ROW, _PIXELS = 32, 32**2
_PERIOD = {"order": 8, "period": _ROW}
_NO_PERIOD = {"order": 8}
_MODES = {"order": 16, "period": _ROW}
_S5 = {"order": 80, "dt_min": 2 / _PIXELS, "dt_max": 0.5}  # as many parameters, the same range of Δ
CASES: dict[tuple[str, str], dict[str, Any]] = {
    (EASIER, "fractal, period 32, pretrained"): {"options": _PERIOD, "pretrain": 400},
    (EASIER, "fractal, period 32, order 16"): {"options": _MODES},
    (EASIER, "fractal, period 32, gate of S5"): {"options": _PERIOD, "gate": "half_glu1"},
    (EASIER, "fractal, period 32"): {"options": _PERIOD},
    (EASIER, "s5"): {"name": "s5", "options": _S5},
    (EASIER, "fractal, no period"): {"options": _NO_PERIOD},
    (TASK, "fractal, period 32"): {"options": _PERIOD},
}


def settings(task: str, model: str, seed: int) -> Config:
    """The settings of a case."""
    case = CASES[task, model]
    return Config(
        data=DataConfig(task, preset="laptop", batch=BATCH),
        model=ModelConfig(
            case.get("name", "fractal"),
            width=64,
            depth=4,
            gate=case.get("gate"),
            norm="batch",
            dropout=0.0,
            options=case["options"],
        ),
        optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.03, warmup=150),
        steps=STEPS,
        pretrain=case.get("pretrain", 0),
        seed=seed,
        evaluate_every=EVERY,
        checkpoint_every=EVERY,
    )


def measure(task: str, model: str, seed: int) -> dict:
    """The scores of a run, and its accuracy on the validation set by step."""
    config = settings(task, model, seed)
    run, name = runs.trained(config), "validation_accuracy"
    lines = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    points = (line for line in map(json.loads, lines) if name in line)
    return run.summary() | {
        "pretrain": config.pretrain,
        "curve": [[line["step"], round(line[name], 4)] for line in points],
    }


def main() -> None:
    chosen = [{"task": task, "model": model, "seed": 0} for task, model in CASES]
    runs.run("pathfinder", chosen, measure)


if __name__ == "__main__":
    runs.main(main)
