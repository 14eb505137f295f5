"""The test examples with the largest loss of each group of runs."""

import math
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..._predictions import Predictions
from ...tasks import Task, load
from ..groups import Group
from ..runs import Run
from ..table import Cell, Table
from . import charts
from .page import Chart, Charts, PageBlock, Text

_WORST = 10
_EXCERPT = 280  # characters of a text shown of an example
_MOST_STEPS = 400  # of a series drawn of an example
_DATA = ("task", "preset", "folder", "validation")
_HOW = "; give the folder with the option --data DIR of fractal report"
NO_PREDICTIONS = Text("No run has predictions yet: training writes them at its end.", "missing")


class Worst(NamedTuple):
    """Examples of the test set, by decreasing loss, and what a run predicts for them."""

    title: str
    rows: Int[np.ndarray, " examples"]
    losses: Float[np.ndarray, " examples"]
    answers: list[str]


def worst_examples(groups: Sequence[Group], data: pathlib.Path | None) -> list[PageBlock]:
    """A table or pictures per group, of its first seed with predictions.

    Inputs are shown if the task's data is in the cache, or in the folder `data`.
    """
    blocks: list[PageBlock] = []
    loaded: dict[str, Task | str] = {}
    for group in groups:
        run = group.first
        if run.predictions is None:
            continue
        place = repr([run.settings.get(f"data.{name}") for name in _DATA])
        if place not in loaded:
            loaded[place] = _load(run, data)
        blocks += _blocks(_worst(group, run.predictions), run, run.predictions, loaded[place])
    return blocks or [NO_PREDICTIONS]


def _worst(group: Group, found: Predictions) -> Worst:
    losses = found.losses()
    rows = np.argsort(-losses)[:_WORST]
    names = group.class_names(found.logits.shape[1]) if found.classes else []
    answers = [_answer(found, index, names) for index in rows.tolist()]
    return Worst(f"{group.name}, seed {group.first.seed}", rows, losses[rows], answers)


def _load(run: Run, data: pathlib.Path | None) -> Task | str:
    """The task of a run, or why it cannot be loaded."""
    if (file := run.settings.get("data.file")) is not None:
        return f"they are in the user's file {file}"
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


def _blocks(worst: Worst, run: Run, found: Predictions, task: Task | str) -> list[PageBlock]:
    if isinstance(task, str):
        reason = f"The inputs of {run.task} cannot be shown: {task}."
    elif not _same_targets(task, found):
        reason = f"The inputs are not shown: the test set of {run.task} has changed since the run."
    else:
        return [_with_inputs(worst, task)]
    return [_table(worst), Text(reason, "note")]


def _same_targets(task: Task, found: Predictions) -> bool:
    labels = np.asarray(task.splits.test.labels)
    if len(labels) != len(found.targets):
        return False
    same = labels.reshape(found.targets.shape) if labels.size == found.targets.size else labels
    return same.shape == found.targets.shape and bool(np.allclose(same, found.targets))


def _with_inputs(worst: Worst, task: Task) -> Table | Charts:
    documents = [task.splits.test.documents(index) for index in worst.rows.tolist()]
    if task.tokens:
        texts = [" ‖ ".join(_text(one, task.vocabulary) for one in pair) for pair in documents]
        return _table(worst, texts)
    shown = [_panel(pair[0], task) for pair in documents]
    titles = [
        f"no. {index}: {answer}\nloss {loss:.3g}"
        for index, loss, answer in zip(worst.rows, worst.losses, worst.answers, strict=True)
    ]
    description = f"{worst.title}: inputs of the {len(shown)} test examples with the largest loss."
    figure = charts.examples(shown, titles)
    return Charts([Chart(f"{worst.title}: target → prediction", description, figure, wide=True)])


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
    if len(ids) <= _EXCERPT and len(whole) <= _EXCERPT:
        return whole
    return f"{whole[:_EXCERPT]} … ({len(ids)} tokens)"


def _answer(found: Predictions, index: int, names: Sequence[str]) -> str:
    if found.classes:
        return f"{names[found.targets[index]]} → {names[found.logits[index].argmax()]}"
    return f"{_numbers(found.targets[index])} → {_numbers(found.logits[index])}"


def _numbers(values: np.ndarray) -> str:
    shown = ", ".join(f"{x:.3g}" for x in values[:3])
    return f"{shown}, …" if len(values) > 3 else shown


def _table(worst: Worst, texts: Sequence[str] | None = None) -> Table:
    head = ("example", "loss", "target → prediction")
    rows: list[tuple[Cell, ...]] = [
        (str(index), float(loss), answer)
        for index, loss, answer in zip(worst.rows, worst.losses, worst.answers, strict=True)
    ]
    if texts is not None:
        head = (*head, "input")
        rows = [(*row, text) for row, text in zip(rows, texts, strict=True)]
    return Table(worst.title, head, rows, "")
