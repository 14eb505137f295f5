"""The finished runs of the preset `laptop` as tables, beside published scores."""

from collections.abc import Sequence

from fractal.report.table import Cell, Table, markdown

from . import arena
from .results import Line, stale_note
from .summaries import command, grouped, over

_NAMES = {**arena.TASKS, "smnist": "sequential MNIST", "psmnist": "permuted MNIST"}
_MODELS = {"fractal": "FRACTAL", "s5": "S5"}
_PUBLISHED = {"Transformer": "transformer", "S4": "s4", "S5, its authors": "s5"}
DASHES = {"pathfinder_6": "6 dashes", "pathfinder": "14 dashes"}
_SUBSTITUTE = ("retrieval",)  # its data is not that of published scores


def table(lines: Sequence[Line]) -> Table:
    """One row per task and model: the score, the size of the run, and published scores."""
    runs = by_task(lines).values()
    rows = [_row(line) for models in runs for seeds in models.values() for line in seeds]
    published = tuple(f"published: {name}" for name in _PUBLISHED)
    return Table(
        "Published length: test accuracy of finished runs",
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


def summary(lines: Sequence[Line]) -> Table:
    """One row per task: the scores of both models, and published scores."""
    rows: list[tuple[Cell, ...]] = []
    for task, models in by_task(lines).items():
        own = (_mean(models[model]) if model in models else None for model in _MODELS)
        chance = next(iter(models.values()))[0]["chance"]
        rows.append((name_of(task), *own, f"{100 * chance:.2f}", *_published(task)))
    published = (f"{name.partition(',')[0]}, published" for name in _PUBLISHED)
    header = ("test accuracy in %", *_MODELS.values(), "most frequent class", *published)
    return Table("", header, rows, "")


def readme(lines: Sequence[Line]) -> str:
    """The summary as Markdown, with its caveats."""
    low, high = (f(line["parameters"] for line in lines) for f in (min, max))
    longest = max(line["cpu_hours"] for line in lines)
    seeds = len({line["seed"] for line in lines})
    return (
        f"{markdown(summary(lines))}\n"
        f"Models of {low:,.0f} to {high:,.0f} parameters, trained in at most {longest:.1f} CPU "
        f"hours each, {seeds} seed{'s' * (seeds > 1)} (`fractal train TASK --preset laptop`, with "
        "`--model s5` for S5); published S5 models have 0.2 to 5 million. Checkpoints are selected "
        f"on held-out training examples. {stale_note('laptop', lines)}"
    ).strip()


def pathfinder(lines: Sequence[Line]) -> Table:
    """What leaves chance on Pathfinder: validation accuracy after some numbers of steps."""
    steps = sorted({step for line in lines for step, _ in line["curve"]})
    columns = tuple(f"{step:,.0f}" for step in steps)
    rows: list[tuple[Cell, ...]] = [
        (
            DASHES.get(line["task"], line["task"]),
            line["model"],
            line["parameters"],
            line["seed"],
            *(f"{at[step]:.3f}" if step in at else None for step in steps),
            f"{line['test_accuracy']:.3f}",
        )
        for line in lines
        for at in [dict(map(tuple, line["curve"]))]
    ]
    return Table(
        "Pathfinder: validation accuracy by step",
        ("contours", "model", "parameters", "seed", *columns, "test"),
        rows,
        command("pathfinder"),
        "Steps of 64 images; pretraining is not counted as steps. Chance: 0.5. "
        f"{stale_note('pathfinder', lines)}".strip(),
    )


def by_task(lines: Sequence[Line]) -> dict[str, dict[str, list[Line]]]:
    """The lines of each task by model, in the order of the tables."""
    found = grouped(lines, "task", "model")
    tasks = dict.fromkeys((*_NAMES, *(task for task, _ in found)))
    models = dict.fromkeys((*_MODELS, *(model for _, model in found)))
    runs = {
        task: {model: found[task, model] for model in models if (task, model) in found}
        for task in tasks
    }
    return {task: own for task, own in runs.items() if own}


def _mean(seeds: Sequence[Line]) -> str:
    mean, deviation, _ = over(seeds, "test_accuracy")
    beside = "" if deviation is None else f" ± {100 * deviation:.2f}"
    return f"{100 * mean:.2f}{beside}"


def name_of(task: str) -> str:
    """The name of a task in tables."""
    return _NAMES.get(task, task)


def _published(task: str) -> tuple[Cell, ...]:
    if task not in arena.TASKS or task in _SUBSTITUTE:
        return (None,) * len(_PUBLISHED)
    column = list(arena.TASKS).index(task)
    return tuple(_shown(arena.PUBLISHED[key][0][1][column]) for key in _PUBLISHED.values())


def _row(line: Line) -> tuple[Cell, ...]:
    task, model = line["task"], line["model"]
    return (
        name_of(task),
        _MODELS.get(model, model),
        f"{100 * line['test_accuracy']:.2f}",
        f"{100 * line['validation_accuracy']:.2f}",
        line["parameters"],
        line["examples"],
        f"{100 * line['chance']:.2f}",
        line["cpu_hours"],
        line["seed"],
        *_published(task),
    )


def _shown(score: float | None) -> str:
    return "failed" if score is None else f"{score:.2f}"
