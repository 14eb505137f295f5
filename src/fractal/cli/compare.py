"""`fractal compare`: several models on one task, with the same budget."""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table

from .._allocator import keep_freed_memory
from .._checks import check_name
from .._errors import UserError
from .._extras import require
from ..train import (
    Config,
    OtherSettings,
    compare,
    learning_curve,
    matched_configs,
    model_names,
    preset,
    summarize,
    with_steps,
)
from .console import Stdout
from .hints import command_hints
from .parse import NO_HINT
from .plugins import import_plugins
from .settings import CORES, TASKS, RunCommand, with_data


@dataclasses.dataclass(frozen=True)
class Compare(RunCommand):
    """Train several models with the same data, steps, width and parameter count.

    The same command resumes an interrupted comparison. Settings such as --model.depth 3 apply to
    all models.

    Example: fractal compare listops --models fractal,s5,transformer --seeds 3

    Args:
        models: names separated by commas; the first one sets the parameter count.
        seeds: number of runs per model.
        preset: mini (minutes per run on a laptop), laptop (some hours per run, published length)
            or paper (published settings, for GPUs).
        out: folder of the comparison; default runs/compare-TASK-PRESET.
        data: folder with the task's data, unless it is generated or downloaded.
        steps: number of train steps.
        json: print one JSON object instead of a table.
    """

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK", help=TASKS)]
    models: str = dataclasses.field(default_factory=lambda: ",".join(model_names()))
    seeds: int = 3
    preset: Literal["mini", "laptop", "paper"] = "mini"
    out: Annotated[pathlib.Path | None, NO_HINT] = None
    data: Annotated[pathlib.Path | None, NO_HINT] = None
    steps: Annotated[int | None, NO_HINT] = None
    json: bool = False

    def run(self) -> int:
        # Before training: the learning curves are drawn at the end.
        require("report", "matplotlib", package="fractal compare")
        keep_freed_memory()
        import_plugins(self.plugin)
        names = [name.strip() for name in self.models.split(",")]
        if not all(names):
            raise UserError(f"a name is empty: {self.models!r}", argument="models")
        for name in names:
            check_name("model", name, model_names())
        if len(set(names)) != len(names):
            raise UserError(f"a model is named twice: {self.models}", argument="models")
        folder = self.out or pathlib.Path("runs") / f"compare-{self.task}-{self.preset}"
        results = []
        with command_hints():
            configs = matched_configs(
                [self._config(name) for name in names], seeds=self.seeds, workers=CORES
            )
            for result in self._results(configs, folder):
                results.append(result)
                score = result[f"test_{result['metric']}"]
                text = f"{result['model']}, seed {result['seed']}: {score:.3f}"
                print(f"{len(results)} of {len(configs)}: {text}", file=sys.stderr)
        rows = summarize(results, folder)
        self._draw(names, folder)
        print(f"learning curves, metrics and weights: {folder}", file=sys.stderr)
        if self.json:
            print(json.dumps({"task": self.task, "preset": self.preset, "models": rows}))
        else:
            _show(rows)
        return 0

    def _config(self, model: str) -> Config:
        config = preset(self.task, self.preset, model)
        if self.steps is not None:
            config = with_steps(config, self.steps)
        return self.settings.applied(with_data(config, self.data), self.options)

    def _results(self, configs: list[Config], folder: pathlib.Path) -> Iterator[dict[str, Any]]:
        try:
            yield from compare(configs, folder, workers=CORES)
        except OtherSettings as error:
            raise UserError(f"{error.message}: choose another one", argument="folder") from None

    def _draw(self, names: list[str], folder: pathlib.Path) -> None:
        from ..report.pages.curves import draw_curves  # needs matplotlib

        curves = {
            name: [learning_curve(folder / f"{name}-{seed}") for seed in range(self.seeds)]
            for name in names
        }
        draw_curves(curves, f"{self.task} ({self.preset})", folder / "curves.png")


def _show(rows: list[dict]) -> None:
    metric = rows[0]["metric"]
    table = Table(
        "model", "parameters", f"test {metric.replace('_', ' ')}", "loss over the first tenth"
    )
    for row in rows:
        spread = "" if row["deviation"] is None else f" ± {row['deviation']:.3f}"
        score = f"{row[f'test_{metric}']:.3f}{spread}"
        table.add_row(row["model"], f"{row['parameters']:,}", score, f"{row['early_loss']:.3f}")
    Stdout().print(table)
