"""`fractal compare`: several models on one task, with the same budget."""

import dataclasses
import json
import os
import pathlib
import sys
from typing import Annotated, Literal

import tyro
from rich.table import Table

from .._allocator import keep_freed_memory
from .._errors import UserError
from .console import Stdout
from .settings import changed

_CORES = os.cpu_count() or 1


@dataclasses.dataclass(frozen=True)
class Compare:
    """Train several models on the same data, steps, width and number of parameters.

    An interrupted comparison goes on when it is called again. Settings such as --model.depth 3
    are given to all.

    Example: fractal compare listops --models fractal,s5,transformer --seeds 3

    Args:
        task: listops, text, retrieval, image, pathfinder, pathx, smnist or psmnist.
        models: names with commas between them; the first sets the number of parameters.
        seeds: runs of each model.
        preset: mini or paper.
        out: folder of the comparison; default: runs/compare-TASK-PRESET.
        data: folder with the task's data, unless it is generated or fetched.
        steps: of training.
        json: print one JSON object instead of a table.
    """

    task: Annotated[str, tyro.conf.Positional]
    models: str = "fractal,s5,s4,s4d,dss,lmu,transformer,performer"
    seeds: int = 3
    preset: Literal["mini", "paper"] = "mini"
    out: pathlib.Path | None = None
    data: pathlib.Path | None = None
    steps: int | None = None
    json: bool = False
    settings: tyro.conf.Suppress[tuple[str, ...]] = ()

    def run(self) -> int:
        """Print the table, and draw the curves."""
        keep_freed_memory()
        from ..report.curves import draw_curves
        from ..train._compare import alike, compare, curve, summary
        from ..train.presets import preset

        names = [name.strip() for name in self.models.split(",")]
        if len(set(names)) != len(names):
            raise UserError(f"--models {self.models}: a model is named twice")
        if self.seeds < 1:
            raise UserError(f"--seeds must be at least 1, got {self.seeds}")
        folder = self.out or pathlib.Path("runs") / f"compare-{self.task}-{self.preset}"
        configs = alike(
            names,
            self.seeds,
            lambda name: changed(
                preset(self.task, self.preset, name), self.steps, None, self.data, self.settings
            ),
            _CORES,
        )
        results = []
        for result in compare(configs, folder, _CORES):
            results.append(result)
            said = f"{result['model']}, seed {result['seed']}: {result['test_accuracy']:.3f}"
            print(f"{len(results)} of {len(configs)}: {said}", file=sys.stderr)
        rows = summary(results, folder)
        curves = {
            name: [curve(folder / f"{name}-{seed}") for seed in range(self.seeds)] for name in names
        }
        draw_curves(curves, f"{self.task} ({self.preset})", folder / "curves.png")
        print(f"curves, metrics and weights: {folder}", file=sys.stderr)
        if self.json:
            print(json.dumps({"task": self.task, "preset": self.preset, "models": rows}))
        else:
            _show(rows)
        return 0


def _show(rows: list[dict]) -> None:
    table = Table("model", "parameters", "test accuracy", "loss over the first tenth")
    for row in rows:
        spread = "" if row["deviation"] is None else f" ± {row['deviation']:.3f}"
        accuracy = f"{row['test_accuracy']:.3f}{spread}"
        table.add_row(row["model"], f"{row['parameters']:,}", accuracy, f"{row['early_loss']:.3f}")
    Stdout().print(table)
