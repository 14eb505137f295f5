"""Sections of what was run: experiments, speed, and the Long Range Arena."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import arena as long_range
from .. import experiments as tables
from .. import speed as speeds
from ..results import Line
from ..table import Cell, Table, Timing, value
from ..table import shown as shown_cell
from .charts import (
    axis,
    colors,
    dots,
    learning_curves,
    line,
    lines,
    recall_curves,
    split,
)
from .html import Section, Sheet, folded, missing, paragraph, section, table

_BARS = "Marks: means over the seeds; bars: one sample standard deviation."
_ACCURACY = "test accuracy"


def _absent(name: str) -> str:
    return missing(f"results/{name}.jsonl", tables.command(name))


def recall(sheet: Sheet, found: Sequence[Line] | None) -> Section:
    """Error by age for each signal and memory."""
    title = "Recall by age"
    if not found:
        return section("recall", title, _absent("recall"))
    said = "How well each memory knows the near and the far past, from the same number of "
    said += "coefficients. Lower is better; 1 is no better than the mean of the signal. "
    said += "The published pair is read as LegS, which it is in other coordinates, and as printed: "
    said += "under the power-law measure."
    shown = map(table, tables.recall(found))
    return section(
        "recall",
        title,
        paragraph(said),
        sheet.figures(recall_curves(found)),
        paragraph(
            "Bars: one sample standard deviation over the seeds. The numbers have all memories.",
            "note",
        ),
        folded("The numbers", *shown),
    )


def experiments(sheet: Sheet, found: Mapping[str, list[Line] | None]) -> list[Section]:
    """One section an experiment."""
    parts = {
        "initialization": ("Initialization", _initialization),
        "filter_bank": ("Filter bank", _filter_bank),
        "clock": ("Clock", _clock),
        "table": ("Eight models", _table),
        "long_memory": ("Long memory", _long_memory),
    }
    sections = []
    for name, (title, make) in parts.items():
        lines = found[name]
        body = make(sheet, lines) if lines else [_absent(name)]
        sections.append(section(name.replace("_", "-"), title, *body))
    return sections


def _title(task: Cell, steps: Cell) -> str:
    return f"{task}, {shown_cell(steps)} steps"


def _accuracies(shown: Table, row: str, series: str | None = None) -> list[dict[str, Any]]:
    """A chart of test accuracies for each task."""
    charts = []
    for key, rows in split(shown, "task", "steps").items():
        cells: dict[str, dict] = {}
        for one in rows:
            name = str(one[row])
            cells.setdefault(name, {})[str(one[series]) if series else _ACCURACY] = one[_ACCURACY]
        title = _title(*key)
        said = [f"{one[row]} {value(one[_ACCURACY]):.3f}" for one in rows]
        alt = f"Test accuracy on {title}: {', '.join(said)}."
        references = {
            name: value(rows[0].get(name)) for name in ("most frequent class", "bag of tokens")
        }
        charts.append(dots(title, alt, _ACCURACY, cells, references=references))
    return charts


def _initialization(sheet: Sheet, found: Sequence[Line]) -> list[str]:
    shown = tables.initialization(found)
    runs: dict[str, dict[str, list[Line]]] = {}
    for first, seeds, _ in tables.chosen_ranges(found):
        runs.setdefault(_title(first["task"], first["steps"]), {})[first["init"]] = seeds
    said = "Does it matter where training begins? Normal is this library's default; published has "
    said += "the paper's eigenvalues 1 … N, published spectrum imaginary parts added to them as in "
    said += "S4D; random B is the default without the gains of its operator."
    return [paragraph(said), *_trained(sheet, shown, "initialization", runs)]


def _trained(
    sheet: Sheet, shown: Table, row: str, runs: Mapping[str, Mapping[str, Sequence[Line]]]
) -> list[str]:
    """Accuracies, learning curves by title and name, and the table."""
    return [
        sheet.figures(_accuracies(shown, row)),
        sheet.figures([learning_curves(title, groups) for title, groups in runs.items()]),
        paragraph(f"{_BARS} Bands: the same for the training loss.", "note"),
        table(shown),
    ]


def _filter_bank(sheet: Sheet, found: Sequence[Line]) -> list[str]:
    shown = tables.filter_bank(found)
    said = "One α for all blocks, a bank of several, learned ones, or one large block."
    return [
        paragraph(said),
        sheet.figures(_accuracies(shown, "α", "clock")),
        paragraph(_BARS, "note"),
        table(shown),
    ]


def _clock(sheet: Sheet, found: Sequence[Line]) -> list[str]:
    charts, shown = [], tables.clock(found)
    for task, one in shown.items():
        for (direction, pooling, steps), rows in split(
            one, "direction", "pooling", "steps"
        ).items():
            names = [name for name in one.best if any(row[name] is not None for row in rows)]
            cells = {
                name: {str(row["model"]): row[name] for row in rows if row[name] is not None}
                for name in names
            }
            title = f"{_title(task, steps)}, {direction}, {pooling} pooling"
            alt = (
                f"Test accuracy on {title}, by sampling rate and model; the table has the numbers."
            )
            charts.append(dots(title, alt, _ACCURACY, cells))
    said = "Trained at one sampling rate, tested at others: does a model notice? The "
    said += "scale-invariant clock is never told the rate."
    return [
        paragraph(said),
        sheet.figures(charts),
        paragraph(_BARS, "note"),
        *map(table, shown.values()),
    ]


def _table(sheet: Sheet, found: Sequence[Line]) -> list[str]:
    shown = tables.measured(found)
    runs: dict[str, dict[str, list[Line]]] = {}
    for (task, model, steps), seeds in tables.grouped(found, "task", "model", "steps").items():
        runs.setdefault(_title(task, steps), {})[model] = seeds
    said = "How far each model comes on small tasks with the same data, steps and number of "
    said += "parameters, beside the most frequent class and a bag of tokens."
    return [paragraph(said), *_trained(sheet, shown, "model", runs)]


def _long_memory(sheet: Sheet, found: Sequence[Line]) -> list[str]:
    shown = tables.long_memory(found)
    charts = []
    for title, column, label in (
        ("One step ahead", "1 step ÷ best", "error ÷ best linear predictor"),
        ("24 steps ahead", "24 steps ÷ best", "error ÷ best linear predictor"),
        ("Real series, one step ahead", "error, 1 step", "mean squared error"),
        ("Real series, 24 steps ahead", "error, 24 steps", "mean squared error"),
    ):
        real, cells = title.startswith("Real"), {}
        for row in (dict(zip(shown.header, one, strict=True)) for one in shown.rows):
            if real == (row["1 step ÷ best"] is None) and row[column] is not None:
                cells.setdefault(str(row["series"]), {})[str(row["model"])] = row[column]
        if cells:
            alt = f"{title}: {label} by series and model; the table has the numbers."
            charts.append(dots(title, alt, label, cells))
    said = "Series whose correlations fall as a power of time. At 1 a model is as good as the best "
    said += "linear predictor, which knows the law of the series."
    return [paragraph(said), sheet.figures(charts), paragraph(_BARS, "note"), table(shown)]


def speed(sheet: Sheet, found: Mapping[str, speeds.Benchmark | None]) -> Section:
    """All benchmarks, with the limit and what one would use instead."""
    parts = [
        paragraph(
            "All contestants of a chart take turns in one run: compare ratios. Bars: quartiles."
        )
    ]
    for name in speeds.BENCHMARKS:
        measured = found[name]
        if measured is None:
            file = f"benchmarks/{name}.json"
            parts.append(missing(file, f"{speeds.command(name)} > {file}"))
            continue
        parts.append(sheet.figures(_speed_charts(name, measured.tables[0])))
        html = "".join(map(table, measured.tables))
        parts.append(folded("The scan, all numbers", html) if name == "scan" else html)
        parts.append(paragraph(f"Measured on: {measured.setting}.", "note"))
    return section("speed", "Speed", *parts)


def _speed_charts(name: str, shown: Table) -> list[dict[str, Any]]:
    if name == "scan":
        return _scan_charts(shown)
    if name == "data":
        return []
    kinds = split(shown, "pass") if name == "layer" else split(shown)
    first, times = ("layer", shown.header[2]) if name == "layer" else ("memory", shown.header[1])
    charts = []
    for key, rows in kinds.items():
        title = f"{shown.caption}, {key[0]}" if key else shown.caption
        cells = {str(row[first]): {"time": row[times]} for row in rows}
        limit = [value(row[times]) for row in rows if row[first] == "limit"]
        said = ", ".join(f"{row[first]} {value(row[times]):.3g}" for row in rows)
        unit = times.split(" (")[0]
        scale = "log" if name == "memory" else "linear"
        references = {"limit": limit[0]} if limit else {}
        charts.append(dots(title, f"{title}, {unit}: {said}.", unit, cells, scale, references))
    return charts


def _scan_charts(shown: Table) -> list[dict[str, Any]]:
    methods, charts = shown.header[2:-1], []
    used = colors(methods)
    for (kind,), rows in split(shown, "pass and size").items():
        lengths, series = [row["length"] for row in rows], []
        for method in methods:
            times = [cell for row in rows if isinstance(cell := row[method], Timing)]
            median, low, high = zip(*times, strict=True)
            series.append(line(method, used[method], lengths, median, low, high, bars=True))
        title = f"Scan, {kind}"
        alt = f"{title}: milliseconds by length and method; the table has the numbers."
        x, y = axis("length", "log"), axis("milliseconds", "log")
        charts.append(lines(title, alt, x, y, series))
    return charts


def arena(found: Sequence[Line] | None) -> Section:
    """The published table, what was measured, and at what scale."""
    return section(
        "arena",
        "Long Range Arena",
        "" if found else _absent("table"),
        table(long_range.table(found)),
        table(long_range.scale(found)),
    )
