"""Charts of the experiments, for the page."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from fractal.report.pages import figures
from fractal.report.pages.charts import colors, dots, plain
from fractal.report.pages.curves import learning_curves
from fractal.report.pages.evidence import grouped as rows_by
from fractal.report.pages.page import Chart
from fractal.report.table import Cell, Spread, Table, shown, spread, value

from .results import Line
from .summaries import grouped

# The same name has the same color in all charts.
_COLORS = {
    "fractal": figures.VERMILION, "s5": figures.BLUE, "s4d": figures.GREEN, "dss": figures.PURPLE,
    "lmu": figures.ORANGE, "s4": figures.SKY, "performer": figures.GRAY,
    "transformer": figures.BLACK, "fractal, scale-invariant": figures.VERMILION,
    "fractal, uniform": figures.ORANGE, "fractal, learned α": figures.ORANGE,
    "fractal, single learned α": figures.PURPLE, "ar": figures.GRAY,
    "fractional 0.5": figures.VERMILION, "fractional 0.9": figures.PURPLE, "legs": figures.BLUE,
    "legt": figures.GREEN, "lagt": figures.ORANGE, "published 0.9 as LegS": figures.BLACK,
    "published 0.9 as printed": figures.GRAY, "normal": figures.VERMILION,
    "fractional": figures.ORANGE, "published": figures.GRAY, "published spectrum": figures.PURPLE,
    "random B": figures.GREEN, "uniform": figures.BLUE, "scale-invariant": figures.VERMILION,
    "fractal, scale-invariant, selective": figures.PURPLE, "sithcon": figures.BLACK,
    "fractal, period 32": figures.VERMILION, "fractal, no period": figures.GREEN,
    "fractal, scale-invariant, path": figures.GRAY, "fractal, uniform, selective": figures.SKY,
    "s5, resampled": figures.SKY, "log-mel, logistic regression": figures.BLACK,
}  # fmt: skip
_MOST_LINES = 8  # of a chart on recall; of more, those with a color of their own are shown
_ACCURACY = "test accuracy"


def title_of(task: Cell, steps: Cell) -> str:
    """Task and number of steps."""
    return f"{task}, {shown(steps)} steps"


def accuracies(table: Table, row: str, series: str | None = None) -> list[Chart]:
    """Test accuracies, one chart per task."""
    charts = []
    for key, rows in rows_by(table, "task", "steps").items():
        cells: dict[str, dict[str, Cell]] = {}
        for one in rows:
            name = str(one[series]) if series else _ACCURACY
            cells.setdefault(str(one[row]), {})[name] = one[_ACCURACY]
        title = title_of(*key)
        description = ", ".join(f"{one[row]} {value(one[_ACCURACY]):.3f}" for one in rows)
        references = {
            name: value(rows[0].get(name)) for name in ("most frequent class", "bag of tokens")
        }
        figure = dots(cells, _ACCURACY, references=references, known=_COLORS)
        charts.append(Chart(title, f"Test accuracy on {title}: {description}.", figure))
    return charts


def rates(table: Table, task: str) -> list[Chart]:
    """Accuracy by sampling rate and model, one chart per direction, pooling and number of steps."""
    charts = []
    for (direction, pooling, steps), rows in rows_by(
        table, "direction", "pooling", "steps"
    ).items():
        names = [name for name in table.best if any(row[name] is not None for row in rows)]
        cells: dict[str, dict[str, Cell]] = {
            name: {str(row["model"]): row[name] for row in rows if row[name] is not None}
            for name in names
        }
        title = f"{title_of(task, steps)}, {direction}, {pooling} pooling"
        figure = dots(cells, _ACCURACY, known=_COLORS)
        charts.append(Chart(title, f"Test accuracy on {title}, by sampling rate.", figure))
    return charts


def losses(title: str, groups: Mapping[str, Sequence[Line]]) -> Chart:
    """Training loss against the step."""
    curves = {name: [_curve(run) for run in runs if run["curve"]] for name, runs in groups.items()}
    found = {name: runs for name, runs in curves.items() if runs}
    figure = learning_curves(found, "", known=_COLORS)
    return Chart(title, f"Training loss against the step, {title}: {', '.join(found)}.", figure)


def _curve(run: Line) -> tuple[list[int], list[float]]:
    return [int(step) for step, _ in run["curve"]], [loss for _, loss in run["curve"]]


def validation_curves(runs: Mapping[str, Mapping[str, Sequence[Line]]]) -> list[Chart]:
    """Validation accuracy against the step, one chart per task; the runs of each by model."""
    charts = []
    for title, models in runs.items():
        curves = {model: [_curve(run) for run in seeds] for model, seeds in models.items()}
        figure = learning_curves(curves, "", "validation accuracy", known=_COLORS)
        description = f"Validation accuracy against the step, {title}: {', '.join(curves)}."
        charts.append(Chart(title, description, figure))
    return charts


def forecasts(table: Table) -> list[Chart]:
    """Errors by series and model: relative to the best prediction where it is known."""
    charts = []
    for title, column, label in (
        ("One step ahead", "1 step ÷ best", "error ÷ best linear predictor"),
        ("24 steps ahead", "24 steps ÷ best", "error ÷ best linear predictor"),
        ("Household power, one step ahead", "error, 1 step", "mean squared error"),
        ("Household power, 24 steps ahead", "error, 24 steps", "mean squared error"),
    ):
        real = title.startswith("Household")
        cells: dict[str, dict[str, Cell]] = {}
        for row in (dict(zip(table.header, one, strict=True)) for one in table.rows):
            if real == (row["1 step ÷ best"] is None) and row[column] is not None:
                cells.setdefault(str(row["series"]), {})[str(row["model"])] = row[column]
        if cells:
            figure = dots(cells, label, known=_COLORS)
            charts.append(Chart(title, f"{title}: {label} by series and model.", figure))
    return charts


def recalls(found: Sequence[Line]) -> list[Chart]:
    """Error by age, one chart per signal, with an error bar per bin of ages."""
    charts: dict[tuple, list[tuple[str, tuple, list[Spread]]]] = {}
    for (signal, order, ages, memory), seeds in grouped(
        found, "signal", "order", "ages", "memory"
    ).items():
        errors = [spread(row) for row in zip(*(one["error"] for one in seeds), strict=True)]
        charts.setdefault((signal, order), []).append((memory, ages, errors))
    return [
        Chart(
            f"{signal}, N = {order:g}",
            f"Recall error of {signal} by relative age: {', '.join(m for m, _, _ in memories)}.",
            _recall(memories),
        )
        for (signal, order), memories in charts.items()
    ]


def _recall(memories: Sequence[tuple[str, tuple, list[Spread]]]) -> Figure:
    if len(memories) > _MOST_LINES:
        memories = [one for one in memories if one[0] in _COLORS] or memories
    figure, ((axes,),) = figures.new_figure(1, 1, 4.8, 3.8)
    used = colors((memory for memory, _, _ in memories), _COLORS)
    for memory, ages, errors in memories:
        edges = np.maximum(np.array(ages, float), 1e-9)
        edges[0] = max(edges[0], edges[1] / 10)  # the first bin may start at 0
        mean = np.array([one.mean for one in errors])
        # On a logarithmic axis a bar must end above zero.
        deviation = np.minimum([one.deviation or 0.0 for one in errors], 0.9 * mean)
        style = "-" if memory.startswith("fractional") else "--"
        axes.errorbar(
            np.sqrt(edges[:-1] * edges[1:]), mean, deviation, linestyle=style, linewidth=1.4,
            elinewidth=0.7, color=used[memory], label=plain(memory),
        )  # fmt: skip
    axes.set(xscale="log", yscale="log")
    figures.finish(axes, "", "relative age (0: now, 1: the start)", "error ÷ deviation")
    figure.legend(frameon=False, fontsize=8, loc="outside upper left", ncols=2)
    return figure
