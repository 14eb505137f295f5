"""The finished runs of the preset `laptop` as a table, beside published scores."""

from collections.abc import Sequence

from fractal.report.table import Cell, Table

from . import arena
from .results import Line, stale_note
from .summaries import command, grouped

_NAMES = {**arena.TASKS, "smnist": "sequential MNIST", "psmnist": "permuted MNIST"}
_MODELS = {"fractal": "FRACTAL", "s5": "S5"}
_PUBLISHED = {"Transformer": "transformer", "S4": "s4", "S5, its authors": "s5"}
_SUBSTITUTE = ("retrieval",)  # its data is not that of published scores


def table(lines: Sequence[Line]) -> Table:
    """One row per task and model: the score, the size of the run, and published scores."""
    rows: list[tuple[Cell, ...]] = []
    found = grouped(lines, "task", "model")
    for task in dict.fromkeys((*_NAMES, *(task for task, _ in found))):
        for model in dict.fromkeys((*_MODELS, *(model for _, model in found))):
            rows += [_row(line) for line in found.get((task, model), [])]
    published = tuple(f"published: {name}" for name in _PUBLISHED)
    return Table(
        "Published length, two cores: test accuracy of finished runs",
        (
            *("task", "model", "test accuracy in %", "validation", "parameters", "examples seen"),
            *("most frequent class", "CPU hours", "seed"),
            *published,
        ),
        rows,
        command("laptop"),
        "Sequences of the published length and the whole test set; models and budgets are much "
        "smaller than published ones (`fractal train TASK --preset laptop`). Retrieval is a "
        "generated substitute. CPU hours are of one core of a shared machine. "
        f"{stale_note('laptop', lines)}".strip(),
    )


def _row(line: Line) -> tuple[Cell, ...]:
    task, model = line["task"], line["model"]
    published: tuple[Cell, ...] = (None,) * len(_PUBLISHED)
    if task in arena.TASKS and task not in _SUBSTITUTE:
        column = list(arena.TASKS).index(task)
        published = tuple(_shown(arena.PUBLISHED[key][0][1][column]) for key in _PUBLISHED.values())
    return (
        _NAMES.get(task, task),
        _MODELS.get(model, model),
        f"{100 * line['test_accuracy']:.2f}",
        f"{100 * line['validation_accuracy']:.2f}",
        line["parameters"],
        line["examples"],
        f"{100 * line['chance']:.2f}",
        line["cpu_hours"],
        line["seed"],
        *published,
    )


def _shown(score: float | None) -> str:
    return "failed" if score is None else f"{score:.2f}"
