"""What the charts of the page show, as data; `script.js` draws it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..alpha_sweep import rounded
from ..experiments import grouped
from ..results import Line
from ..table import Cell, Spread, Table, Timing, spread, value

# The number of a color in style.css; the same name has the same color in all charts.
_COLORS = {
    "fractal": 1, "s5": 2, "s4d": 3, "dss": 4, "lmu": 5, "s4": 6, "performer": 7, "transformer": 8,
    "fractal, scale-invariant": 1, "fractal, uniform": 5, "fractal, learned": 5, "ar": 7,
    "fractal, one learned": 4,
    "fractional 0.5": 1, "fractional 0.9": 4, "legs": 2, "legt": 3, "lagt": 5,
    "published 0.9 as LegS": 8, "published 0.9 as printed": 7,
    "normal": 1, "fractional": 5, "published": 7, "published spectrum": 4, "random B": 3,
    "uniform": 2, "scale-invariant": 1,
    "sequential": 1, "associative": 2, "chunked": 3,
}  # fmt: skip
_MOST_POINTS = 100  # of a learning curve
_MOST_LINES = 8  # of recall; of more than that the chart has those with a color of their own


def colors(names: Iterable[str]) -> dict[str, int]:
    """A color for each name: its own, or one that is left."""
    names = list(dict.fromkeys(names))
    found = {name: _COLORS[name] for name in names if name in _COLORS}
    left = [color for color in range(1, 9) if color not in found.values()] or [8]
    for index, name in enumerate(name for name in names if name not in found):
        found[name] = left[index % len(left)]
    return found


def axis(
    label: str,
    scale: str = "linear",
    domain: Sequence[float] | None = None,
    ticks: Sequence[float] | None = None,
) -> dict:
    """`scale` is linear or log; domain and ticks are as the data needs them unless given."""
    return {"label": label, "scale": scale, "domain": domain, "ticks": ticks}


def line(
    name: str,
    color: int,
    x: Any,
    y: Any,
    low: Any = None,
    high: Any = None,
    dash: bool = False,
    marks: bool = False,
    bars: bool = False,
) -> dict[str, Any]:
    """One series: a line, or marks; from `low` to `high` a band, or error bars."""
    found = {"name": name, "color": color, "x": rounded(x), "y": rounded(y), "dash": dash}
    if low is not None:
        found |= {"low": rounded(low), "high": rounded(high)}
    return found | {"marks": marks, "bars": bars}


def lines(title: str, alt: str, x: dict, y: dict, series: list[dict]) -> dict[str, Any]:
    """Curves over a common axis."""
    return {"kind": "lines", "title": title, "alt": alt, "x": x, "y": y, "series": series}


def dots(
    title: str,
    alt: str,
    label: str,
    rows: Mapping[str, Mapping[str, Cell]],
    scale: str = "linear",
    references: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """A row for each name, in it a mark with an error bar for each series."""
    used = colors(name for cells in rows.values() for name in cells)
    return {
        "kind": "dots",
        "title": title,
        "alt": alt,
        "x": axis(label, scale),
        "series": [{"name": name, "color": color} for name, color in used.items()],
        "rows": [
            {"name": name, "points": [_point(series, cell) for series, cell in cells.items()]}
            for name, cells in rows.items()
        ],
        "references": [
            {"name": name, "value": rounded(at)}
            for name, at in (references or {}).items()
            if not math.isnan(at)
        ],
    }


def _point(series: str, cell: Cell) -> dict[str, Any]:
    middle = low = high = value(cell)
    if isinstance(cell, Timing):
        low, high = cell.low, cell.high
    elif isinstance(cell, Spread) and cell.deviation is not None:
        low, high = middle - cell.deviation, middle + cell.deviation
    found = zip(("mean", "low", "high"), rounded([middle, low, high]), strict=True)
    return {"series": series, **dict(found)}


def split(table: Table, *names: str) -> dict[tuple, list[dict[str, Cell]]]:
    """The rows of a table, each by heading, grouped by some columns."""
    found: dict[tuple, list[dict[str, Cell]]] = {}
    for row in table.rows:
        named = dict(zip(table.header, row, strict=True))
        found.setdefault(tuple(named[name] for name in names), []).append(named)
    return found


def learning_curves(title: str, groups: Mapping[str, Sequence[Line]]) -> dict[str, Any]:
    """Training loss against the step: mean over the seeds, and a band of one deviation."""
    used, series = colors(groups), []
    for name, runs in groups.items():
        curves = [dict(run["curve"]) for run in runs]
        steps = sorted(set(curves[0]).intersection(*curves[1:]))
        chosen = np.unique(np.linspace(0, len(steps) - 1, _MOST_POINTS).round().astype(int))
        steps = [steps[i] for i in chosen] if steps else []
        found = [spread(curve[step] for curve in curves) for step in steps]
        mean = np.array([one.mean for one in found])
        wide = np.array([one.deviation or 0.0 for one in found])
        series.append(line(name, used[name], steps, mean, mean - wide, mean + wide))
    alt = f"Training loss against the step, {title}. Lines: {', '.join(groups)}."
    return lines(title, alt, axis("step"), axis("training loss"), series)


def recall_curves(found: Sequence[Line]) -> list[dict[str, Any]]:
    """Error by age, a chart for each signal; a mark and an error bar for each bin of ages."""
    charts: dict[tuple, list[tuple[str, tuple, list[Spread]]]] = {}
    for (signal, order, ages, memory), seeds in grouped(
        found, "signal", "order", "ages", "memory"
    ).items():
        errors = [spread(row) for row in zip(*(one["error"] for one in seeds), strict=True)]
        charts.setdefault((signal, order), []).append((memory, ages, errors))
    drawn = []
    for (signal, order), memories in charts.items():
        if len(memories) > _MOST_LINES:
            memories = [one for one in memories if one[0] in _COLORS] or memories
        used, series = colors(memory for memory, _, _ in memories), []
        for memory, ages, errors in memories:
            edges = np.maximum(np.array(ages, float), 1e-9)
            edges[0] = max(edges[0], edges[1] / 10)  # the first bin may begin at 0
            mean = np.array([one.mean for one in errors])
            # On a logarithmic axis a bar must end above zero.
            wide = np.minimum([one.deviation or 0.0 for one in errors], 0.9 * mean)
            middle = np.sqrt(edges[:-1] * edges[1:])
            ours = memory.startswith("fractional")
            series.append(
                line(
                    memory,
                    used[memory],
                    middle,
                    mean,
                    mean - wide,
                    mean + wide,
                    dash=not ours,
                    bars=True,
                )
            )
        title = f"{signal}, N = {order:g}"
        alt = f"Recall error of {title} by relative age. Lines: {', '.join(used)}."
        x = axis("relative age (0: now, 1: the beginning)", "log")
        drawn.append(lines(title, alt, x, axis("error ÷ deviation", "log"), series))
    return drawn
