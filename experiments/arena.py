"""The Long Range Arena: published scores, and the scores and scale of the runs made here."""

import math
from collections.abc import Sequence

from fractal.report.paper_tables import PRINTED_LRA, S5_OWN
from fractal.report.table import Cell, Spread, Table
from fractal.train import preset

from .results import Line, stale_note
from .summaries import command, grouped, over

TASKS = {
    "listops": "ListOps",
    "text": "Text",
    "retrieval": "Retrieval",
    "image": "Image",
    "pathfinder": "Pathfinder",
    "pathx": "Path-X",
}
# Sequence length of the published task and of the mini task.
LENGTHS = {
    "listops": ("2,048", "96"),
    "text": ("4,096", "512"),
    "retrieval": ("2 × 4,000", "2 × 128"),
    "image": ("1,024", "256"),
    "pathfinder": ("1,024", "1,024"),
    "pathx": ("16,384", "4,096"),
}
_PAPER, _HERE = "FRACTAL paper", "measured here"
# By model: source, six scores in % and their average; None where a model failed.
PUBLISHED: dict[str, list[tuple[str, tuple[float | None, ...]]]] = {
    "fractal": [(_PAPER, PRINTED_LRA["FRACTAL"])],
    "s5": [
        ("its authors", S5_OWN),
        ("re-run by the FRACTAL authors", PRINTED_LRA["S5"]),
    ],
    "s4": [("its authors, S4-LegS", PRINTED_LRA["S4"])],
    "s4d": [("its authors, S4D-LegS", PRINTED_LRA["S4D"])],
    "dss": [
        ("its authors, softmax", (60.60, 84.80, 87.80, 85.70, 84.60, 87.80, 81.88)),
        (_PAPER, PRINTED_LRA["DSS"]),
    ],
    "transformer": [("the Arena's authors", (36.37, 64.27, 57.46, 42.44, 71.40, None, None))],
    "performer": [("the Arena's authors", (18.01, 65.40, 53.82, 42.77, 77.05, None, None))],
}
_NAMES = {
    "fractal": "FRACTAL",
    "transformer": "Transformer",
    "performer": "Performer",
}


def table(lines: Sequence[Line] | None) -> Table:
    """Published scores in %, followed by scores measured here on the mini tasks."""
    here = _scores(lines or [])
    rows: list[tuple[Cell, ...]] = []
    for model in dict.fromkeys((*PUBLISHED, *(model for model, _ in here))):
        name = _NAMES.get(model, model.upper() if model in PUBLISHED or model == "lmu" else model)
        for whose, scores in PUBLISHED.get(model, []):
            cells = ("failed" if s is None else f"{s:.2f}" for s in scores[:-1])
            average = scores[-1]
            rows.append((name, whose, *cells, None if average is None else f"{average:.2f}"))
        own = [here.get((model, task)) for task in TASKS]
        if any(own):
            rows.append((name, _HERE, *own, None))
    return Table(
        "Test accuracy in %: published, and measured here",
        ("model", "source", *TASKS.values(), "average"),
        rows,
        command("models"),
        "Rows measured here are of much smaller tasks, models and budgets (next table): compare "
        "them with each other, not with published rows. No published score was reproduced at "
        "full scale. FRACTAL paper: its Table 2, which repeats the authors' rows of S4, S4D, "
        f"Transformer and Performer. {stale_note('models', lines or [])}".strip(),
        ours=frozenset(index for index, row in enumerate(rows) if row[1] == _HERE),
    )


def _scores(lines: Sequence[Line]) -> dict[tuple[str, str], Spread]:
    """Test accuracy in % by model and task, of the longest runs."""
    found: dict[tuple[str, str], Spread] = {}
    for (model, task, _), seeds in _by_steps(lines):
        mean, deviation, seeds_run = over(seeds, "test_accuracy")
        deviation = None if deviation is None else 100 * deviation
        found[model, task] = Spread(100 * mean, deviation, seeds_run)
    return found


def _by_steps(lines: Sequence[Line]) -> list[tuple[tuple, list[Line]]]:
    groups = grouped(lines, "model", "task", "steps")
    return sorted(groups.items(), key=lambda item: item[0][2])


def scale(lines: Sequence[Line] | None) -> Table:
    """The scale of the published settings and of the runs made here."""
    runs: dict[str, list[Line]] = {}
    for (_, task, steps), seeds in _by_steps(lines or []):
        kept = [line for line in runs.get(task, []) if line["steps"] == steps]
        runs[task] = kept + seeds
    rows: list[tuple[Cell, ...]] = []
    for task, name in TASKS.items():
        paper, own = preset(task, "paper", "s5"), runs.get(task, [])
        published, mini = LENGTHS[task]
        measured: tuple[Cell, ...] = (None,) * 5
        if own:
            measured = (
                own[0]["steps"],
                own[0]["examples"],
                extent(own, "parameters"),
                extent(own, "seconds"),
                len({line["seed"] for line in own}),
            )
        batches = paper.steps * paper.data.batch
        rows.append((name, published, paper.steps, batches, mini, *measured))
    return Table(
        "Scale: S5's published settings, and the runs made here",
        (
            "task", "published: length", "steps", "examples seen", "here: length", "steps here",
            "examples seen here", "parameters here", "seconds per run, one core", "seeds",
        ),
        rows,
        command("models"),
    )  # fmt: skip


def extent(lines: Sequence[Line], name: str) -> str | None:
    """Smallest and largest value of a field, as text."""
    values = [line[name] for line in lines if not math.isnan(line[name])]
    if not values:
        return None
    low, high = (f"{round(value):,}" for value in (min(values), max(values)))
    return low if low == high else f"{low} … {high}"
