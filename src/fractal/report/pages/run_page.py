"""The page about a user's own runs: what `fractal report RUN …` writes."""

import math
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._predictions import Predictions
from ..._run_folder import number_of
from ..groups import Group, differing, grouped
from ..runs import Run, find_runs, read_run
from ..table import Cell, Goal, Table, spread
from . import charts
from .curves import learning_curves
from .page import Chart, Charts, Folded, PageBlock, Section, Text, render
from .worst_examples import NO_PREDICTIONS, worst_examples

_ERRORS = ("loss", "error", "mse", "mae")  # ends of the names of scores that are best if low
_COUNTS = ("test_cases", "test_origins")  # of `fractal fit` and `fractal forecast`: no scores


def runs_page(paths: Sequence[pathlib.Path], *, data: pathlib.Path | None = None) -> str:
    """The page as HTML. UserError where a folder contains no run, or a file cannot be used.

    Inputs are shown if the task's data is in the cache, or in the folder `data`. A folder that a
    run's config.json names is not read, since the run may be anyone's.
    """
    runs = [read_run(folder) for folder in find_runs(paths)]
    groups = grouped(runs)
    tasks = list(dict.fromkeys(run.task for run in runs))
    finished = sum(run.result is not None for run in runs)
    lead = (
        f"{_count(len(runs), 'run')} on {', '.join(tasks)}: {_count(len(groups), 'setting')}, "
        f"{finished} finished."
    )
    sections = [
        Section("scores", "Scores", [_scores(groups)]),
        *_curves(groups),
        Section("settings", "Settings", _settings(groups)),
        Section("predictions", "Predictions on the test set", _predictions(groups)),
        Section("examples", "Examples with the largest loss", worst_examples(groups, data)),
        Section("size", "Speed and memory", [_sizes(groups)]),
        Section("provenance", "Provenance", [_provenance(runs)]),
    ]
    return render(f"Runs: {', '.join(tasks)}", lead, sections)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _scores(groups: Sequence[Group]) -> Table:
    """Mean and deviation over the seeds of every validation and test score."""
    names = dict.fromkeys(
        name
        for group in groups
        for run in group.runs
        for name, value in (run.result or {}).items()
        if name.startswith(("validation_", "test_")) and name not in _COUNTS
        if not math.isnan(number_of(value))
    )
    # The test score is what a reader looks for.
    order = sorted(names, key=lambda name: (not name.startswith("test_"), name.endswith("loss")))
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        done = [run.result for run in group.runs if run.result is not None]
        cells = [
            spread(values) if (values := [number_of(r[n]) for r in done if n in r]) else None
            for n in order
        ]
        rows.append((group.name, group.first.task, len(group.runs), _state(group), *cells))
    heads = [name.replace("_", " ") for name in order]
    best: dict[str, Goal] = {
        head: "lowest" if head.endswith(_ERRORS) else "highest" for head in heads
    }
    return Table(
        "Scores: mean ± sample standard deviation over the seeds",
        ("run", "task", "seeds", "state", *heads),
        rows,
        "",
        best=best if len(rows) > 1 else {},
        within=("task",) if len(rows) > 1 else (),
    )


def _state(group: Group) -> str:
    open_runs = [run for run in group.runs if run.result is None]
    if not open_runs:
        return "finished"
    steps = ", ".join(f"step {run.step} of {run.settings.get('steps', '?')}" for run in open_runs)
    return f"{len(open_runs)} unfinished: {steps}"


def _curves(groups: Sequence[Group]) -> list[Section]:
    """Training loss, and every metric of the validation set, per task.

    No section for finished runs without metrics: their models are not trained in steps.
    """
    blocks: list[PageBlock] = []
    for task in dict.fromkeys(group.first.task for group in groups):
        own = [group for group in groups if group.first.task == task]
        names = dict.fromkeys(
            name for group in own for run in group.runs for line in run.metrics for name in line
        )
        shown = ["loss", *(name for name in names if name.startswith("validation_"))]
        found = []
        for name in shown:
            curves = {
                group.name: [curve for run in group.runs if (curve := run.curve(name))[0]]
                for group in own
            }
            curves = {group: runs for group, runs in curves.items() if runs}
            if curves:
                label = "training loss" if name == "loss" else name.replace("_", " ")
                description = f"{label} against the step, {task}: {', '.join(curves)}."
                figure = learning_curves(curves, "", label)
                found.append(Chart(f"{task}: {label}", description, figure))
        if found:
            blocks.append(Charts(found))
    if blocks:
        blocks.append(Text("Lines: mean over the seeds; bands: their range.", "note"))
    elif any(run.result is None for group in groups for run in group.runs):
        blocks.append(Text("No metrics yet.", "missing"))
    return [Section("curves", "Learning curves", blocks)] if blocks else []


def _settings(groups: Sequence[Group]) -> list[PageBlock]:
    firsts = [group.first for group in groups]
    names = [name for name in differing(firsts) if name != "seed"]

    def table(caption: str, names: Sequence[str]) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (name, *(_setting(run.settings.get(name)) for run in firsts)) for name in names
        ]
        return Table(caption, ("setting", *(group.name for group in groups)), rows, "")

    same = [name for name in firsts[0].settings if name not in names and name != "seed"]
    common: list[tuple[Cell, ...]] = [(n, _setting(firsts[0].settings[n])) for n in same]
    folded = Folded("Common settings", [Table("All runs", ("setting", "value"), common, "")])
    if names:
        return [table("Settings that differ", names), folded]
    return [Text("All runs have the same settings, except for the seed."), folded]


def _setting(value: Any) -> str | None:
    return None if value is None else str(value)


def _predictions(groups: Sequence[Group]) -> list[PageBlock]:
    """Confusion matrices, or residuals, over all seeds."""
    found = []
    for group in groups:
        own = [run.predictions for run in group.runs if run.predictions is not None]
        own = [one for one in own if one.logits.shape[1:] == own[0].logits.shape[1:]
               and one.classes == own[0].classes]  # fmt: skip
        if own:
            found.append(_chart(group, own))
    if not found:
        return [NO_PREDICTIONS]
    return [Charts(found)]


def _chart(group: Group, own: Sequence[Predictions]) -> Chart:
    seeds = _count(len(own), "seed")
    if own[0].classes:
        size = own[0].logits.shape[1]
        counts = np.zeros((size, size), int)
        for one in own:
            np.add.at(counts, (one.targets, one.logits.argmax(axis=1)), 1)
        right = np.trace(counts) / counts.sum()
        description = f"{group.name}: {right:.1%} of {counts.sum():,} predictions are correct."
        figure = charts.confusion(counts, group.class_names(size))
        return Chart(f"Confusion matrix: {group.name} ({seeds})", description, figure)
    predicted, target = (
        np.concatenate([part.ravel() for part in parts]) for parts in zip(*own, strict=True)
    )
    error = math.sqrt(np.mean((predicted - target) ** 2))
    description = f"{group.name}: root-mean-square error {error:.3g} on {len(target):,} values."
    figure = charts.residuals(predicted, target)
    return Chart(f"Residuals: {group.name} ({seeds})", description, figure, wide=True)


def _sizes(groups: Sequence[Group]) -> Table:
    columns = {
        "parameters": "parameters",
        "seconds": "seconds",
        "examples_per_second": "examples/s",
        "peak_memory_bytes": "peak memory, bytes",
    }
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        cells: list[Cell] = []
        for name in columns:
            values = [number_of((run.result or {}).get(name)) for run in group.runs]
            values = [x for x in values if not math.isnan(x)]
            same = len(set(values)) == 1 and values[0] == round(values[0])
            cells.append(round(values[0]) if same else spread(values) if values else None)
        sizes = [run.weight_bytes for run in group.runs if run.weight_bytes is not None]
        rows.append((group.name, *cells, max(sizes, default=None)))
    return Table("Speed and memory", ("run", *columns.values(), "weight file, bytes"), rows, "")


def _provenance(runs: Sequence[Run]) -> Table:
    fields = ("date", "commit", "versions", "machine", "command")
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        found = (run.result or {}).get("provenance")
        made = found if isinstance(found, dict) else {}
        cells = (_flat(made.get(name)) for name in fields)
        rows.append((str(run.folder), _setting(run.seed), *cells))
    return Table("Origin of each run", ("run", "seed", *fields), rows, "")


def _flat(value: Any) -> str | None:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return _setting(value)
