"""The page about a user's own runs: what `fractal report RUN …` writes."""

# ruff: noqa: E402  (the extra is checked before its packages are imported)
from .._extras import require

require("report", "matplotlib", "jinja2")

import math
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._predictions import Predictions
from .._run_folder import number_of
from ..tasks import Task, load
from . import charts
from .curves import learning_curves
from .page import Chart, Charts, Folded, PageBlock, Section, Text, render
from .runs import Run, find_runs, read_run
from .table import Cell, Goal, Table, spread

_WORST = 10
_EXCERPT = 280  # characters of a text shown of an example
_MOST_STEPS = 400  # of a series drawn of an example
# Settings that do not tell models apart.
_PLACES = ("seed", "data.folder", "data.task")


class Group(NamedTuple):
    """Runs that differ in their seed only."""

    name: str
    runs: list[Run]

    @property
    def first(self) -> Run:
        """The run whose predictions are shown: the first with predictions, or the first."""
        return next((run for run in self.runs if run.predictions is not None), self.runs[0])


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
        Section("curves", "Learning curves", _curves(groups)),
        Section("settings", "Settings", _settings(groups)),
        Section("predictions", "Predictions on the test set", _predictions(groups)),
        Section("examples", "Examples with the largest loss", _examples(groups, data)),
        Section("size", "Speed and memory", [_sizes(groups)]),
        Section("provenance", "Provenance", [_provenance(runs)]),
    ]
    return render(f"Runs: {', '.join(tasks)}", lead, sections)


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def grouped(runs: Sequence[Run]) -> list[Group]:
    """Runs that differ in their seed only, together, named by the settings that tell them apart."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        key = {name: value for name, value in run.settings.items() if name != "seed"}
        found.setdefault(repr(sorted(key.items(), key=lambda item: item[0])), []).append(run)
    groups = [sorted(own, key=lambda run: number_of(run.seed)) for own in found.values()]
    names = [_name(own[0], groups) for own in groups]
    if len(set(names)) < len(names):
        names = [own[0].folder.name for own in groups]
    if len(set(names)) < len(names):
        names = [str(own[0].folder) for own in groups]
    return [Group(*pair) for pair in zip(names, groups, strict=True)]


def _name(run: Run, groups: Sequence[Sequence[Run]]) -> str:
    """Model, task if there are several, and up to three settings that differ."""
    several = len({own[0].task for own in groups}) > 1
    start = f"{run.task}, {run.model}" if several else run.model
    alike = [own[0] for own in groups if (own[0].task, own[0].model) == (run.task, run.model)]
    parts = [
        f"{name.rsplit('.', 1)[-1]} {run.settings.get(name)}"
        for name in differing(alike)
        if name not in _PLACES
    ]
    return ", ".join([start, *parts[:3]])


def differing(runs: Sequence[Run]) -> list[str]:
    """Names of settings that are not the same in all runs."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    return [name for name in names if len({repr(run.settings.get(name)) for run in runs}) > 1]


def _scores(groups: Sequence[Group]) -> Table:
    """Mean and deviation over the seeds of every validation and test score."""
    names = dict.fromkeys(
        name
        for group in groups
        for run in group.runs
        for name, value in (run.result or {}).items()
        if name.startswith(("validation_", "test_")) and not math.isnan(number_of(value))
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
        head: "lowest" if head.endswith(("loss", "error")) else "highest" for head in heads
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


def _curves(groups: Sequence[Group]) -> list[PageBlock]:
    """Training loss, and every metric of the validation set, per task."""
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
                said = f"{label} against the step, {task}: {', '.join(curves)}."
                figure = learning_curves(curves, "", label)
                found.append(Chart(f"{task}: {label}", said, figure))
        if found:
            blocks.append(Charts(found))
    note = "Lines: mean over the seeds; bands: their range."
    return [*blocks, Text(note, "note")] if blocks else [Text("No metrics yet.", "missing")]


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
    blocks: list[PageBlock] = [Folded("Common settings", [Table("All runs", ("setting", "value"),
                                                            common, "")])]  # fmt: skip
    if names:
        return [table("Settings that differ", names), *blocks]
    return [Text("All runs have the same settings, except for the seed."), *blocks]


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
        return [Text("No run has predictions yet: training writes them at its end.", "missing")]
    return [Charts(found)]


def _chart(group: Group, own: Sequence[Predictions]) -> Chart:
    seeds = _count(len(own), "seed")
    if own[0].classes:
        size = own[0].logits.shape[1]
        counts = np.zeros((size, size), int)
        for one in own:
            np.add.at(counts, (one.targets, one.logits.argmax(axis=1)), 1)
        right = np.trace(counts) / counts.sum()
        said = f"{group.name}: {right:.1%} of {counts.sum():,} predictions are correct."
        figure = charts.confusion(counts, [str(index) for index in range(size)])
        return Chart(f"Confusion matrix: {group.name} ({seeds})", said, figure)
    predicted, target = (
        np.concatenate([part.ravel() for part in parts]) for parts in zip(*own, strict=True)
    )
    error = math.sqrt(np.mean((predicted - target) ** 2))
    said = f"{group.name}: root-mean-square error {error:.3g} on {len(target):,} values."
    figure = charts.residuals(predicted, target)
    return Chart(f"Residuals: {group.name} ({seeds})", said, figure, wide=True)


def _examples(groups: Sequence[Group], data: pathlib.Path | None) -> list[PageBlock]:
    """The examples with the largest loss, of the first seed of each group."""
    blocks: list[PageBlock] = []
    loaded: dict[str, Task | str] = {}
    for group in groups:
        run = group.first
        if run.predictions is None:
            continue
        place = repr([run.settings.get(f"data.{name}") for name in _DATA])
        if place not in loaded:
            loaded[place] = _load(run, data)
        blocks += _worst(group, run, run.predictions, loaded[place])
    if not blocks:
        return [Text("No run has predictions yet: training writes them at its end.", "missing")]
    return blocks


_DATA = ("task", "preset", "folder", "validation")
_HOW = "; give the folder with the option --data DIR of fractal report"


def _load(run: Run, data: pathlib.Path | None) -> Task | str:
    """The task of a run, or why it cannot be loaded."""
    values = {name: run.settings.get(f"data.{name}") for name in _DATA}
    if data is None and values["folder"] is not None:
        return f"the run has read them from {values['folder']}{_HOW}"
    options: dict[str, Any] = {
        "preset": values["preset"] or "mini",
        "data": data,
        "validation": values["validation"] or "held-out",
        "cached": data is None,
    }
    try:
        return load(run.task, **options)
    # The data is missing, the task is not registered here, or it needs an extra.
    except (ValueError, ImportError, OSError) as error:
        return f"{' '.join(str(error).split())}{_HOW if data is None else ''}"


def _worst(group: Group, run: Run, found: Predictions, task: Task | str) -> list[PageBlock]:
    losses = found.losses()
    worst = np.argsort(-losses)[:_WORST]
    if isinstance(task, str):
        reason = f"The inputs of {run.task} cannot be shown: {task}."
    elif not _same_targets(task, found):
        reason = f"The inputs are not shown: the test set of {run.task} has changed since the run."
    else:
        return _with_inputs(group, run, found, losses, worst, task)
    return [_table(group, run, found, losses, worst, None), Text(reason, "note")]


def _same_targets(task: Task, found: Predictions) -> bool:
    labels = np.asarray(task.splits.test.labels)
    if len(labels) != len(found.targets):
        return False
    same = labels.reshape(found.targets.shape) if labels.size == found.targets.size else labels
    return same.shape == found.targets.shape and bool(np.allclose(same, found.targets))


def _with_inputs(
    group: Group,
    run: Run,
    found: Predictions,
    losses: np.ndarray,
    worst: np.ndarray,
    task: Task,
) -> list[PageBlock]:
    documents = [task.splits.test.documents(int(index)) for index in worst]
    if task.tokens:
        texts = [" ‖ ".join(_text(one, task.vocabulary) for one in pair) for pair in documents]
        return [_table(group, run, found, losses, worst, texts)]
    shown = [_panel(pair[0], task) for pair in documents]
    titles = [
        f"no. {index}: {_answer(found, int(index))}\nloss {losses[index]:.3g}" for index in worst
    ]
    said = f"{group.name}: inputs of the {len(worst)} test examples with the largest loss."
    title = f"{group.name}, seed {run.seed}: target → prediction"
    return [Charts([Chart(title, said, charts.examples(shown, titles), wide=True)])]


def _panel(values: np.ndarray, task: Task) -> np.ndarray:
    """An image (rows, columns) of stored gray levels, or a series (time, channels)."""
    side = math.isqrt(len(values))
    if task.levels is not None and side * side == len(values) and side > 4:
        return values.reshape(side, side)
    series = values.reshape(len(values), -1)
    return series[:: -(-len(series) // _MOST_STEPS)] if len(series) else np.zeros((1, 1))


def _text(ids: np.ndarray, vocabulary: Sequence[str]) -> str:
    """Tokens as text: without spaces where each is a character."""
    shown = [int(index) for index in ids[:_EXCERPT]]
    known = [vocabulary[index] if index < len(vocabulary) else f"#{index}" for index in shown]
    whole = "".join(known) if all(len(token) == 1 for token in known) else " ".join(known)
    cut = whole[:_EXCERPT]
    return (
        cut if len(cut) == len(whole) and len(ids) <= _EXCERPT else f"{cut} … ({len(ids)} tokens)"
    )


def _answer(found: Predictions, index: int) -> str:
    if found.classes:
        return f"{found.targets[index]} → {found.logits[index].argmax()}"
    return f"{_numbers(found.targets[index])} → {_numbers(found.logits[index])}"


def _numbers(values: np.ndarray) -> str:
    shown = ", ".join(f"{x:.3g}" for x in values[:3])
    return f"{shown}, …" if len(values) > 3 else shown


def _table(
    group: Group,
    run: Run,
    found: Predictions,
    losses: np.ndarray,
    worst: np.ndarray,
    texts: Sequence[str] | None,
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for place, index in enumerate(worst.tolist()):
        cells: tuple[Cell, ...] = (float(losses[index]), _answer(found, index))
        rows.append((str(index), *cells, *((texts[place],) if texts is not None else ())))
    head = ("example", "loss", "target → prediction", *(("input",) if texts is not None else ()))
    return Table(f"{group.name}, seed {run.seed}", head, rows, "")


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
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        found = (run.result or {}).get("provenance")
        made = found if isinstance(found, dict) else {}
        rows.append(
            (
                str(run.folder),
                _setting(run.seed),
                *(_flat(made.get(name)) for name in ("date", "commit", "versions", "machine",
                                                     "command")),
            )
        )  # fmt: skip
    head = ("run", "seed", "date", "commit", "versions", "machine", "command")
    return Table("Origin of each run", head, rows, "")


def _flat(value: Any) -> str | None:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return _setting(value)
