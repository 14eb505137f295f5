"""Forecasts beside other methods and published numbers: errors over all windows, and over a few."""

import math
from collections.abc import Sequence

from fractal.report.table import Cell, Goal, Table, spread

from .results import Line, stale_note
from .summaries import command, grouped

_COMMAND = command("forecast")
_RANDOM = "fractal"  # the only method here that depends on a seed
# Mean squared errors of Zeng et al. (2023) and of Nie et al. (2023, PatchTST/64), by horizon.
PUBLISHED = {
    ("ETTh1", "DLinear, published"): {96: 0.375, 192: 0.405, 336: 0.439, 720: 0.472},
    ("ETTh1", "PatchTST, published"): {96: 0.370, 192: 0.413, 336: 0.422, 720: 0.447},
    ("ETTh2", "DLinear, published"): {96: 0.289, 192: 0.383, 336: 0.448, 720: 0.605},
    ("ETTh2", "PatchTST, published"): {96: 0.274, 192: 0.341, 336: 0.329, 720: 0.379},
}


def tables(lines: Sequence[Line]) -> list[Table]:
    """All tables of the experiment."""
    return [all_windows(lines), few_windows(lines)]


def all_windows(lines: Sequence[Line]) -> Table:
    """Mean squared errors over all windows of the test part, beside published ones."""
    rows, heads = _rows(lines, "mse")
    horizons = _horizons(lines)
    own = {str(row[0]) for row in rows}
    for (series, name), errors in PUBLISHED.items():
        if series in own:
            cells = [errors.get(horizon) for horizon in horizons]
            rows.append((series, name, None, *cells, None))
    rows.sort(key=lambda row: str(row[0]))
    best: dict[str, Goal] = dict.fromkeys(heads, "lowest")
    return Table(
        "Forecasts: mean squared error of standardized values over all windows of the test part",
        ("series", "method", "seeds", *heads, "coverage of 80 %"),
        rows,
        _COMMAND,
        "Coverage: share of values between the quantiles 0.1 and 0.9, over all horizons. Published "
        "errors are quoted, for the same windows; their models read 336 or 512 last values. "
        f"{stale_note('forecast', lines)}",
        best,
        ("series",),
    )


def few_windows(lines: Sequence[Line]) -> Table:
    """The same over the windows of the methods that are fitted anew for each of them."""
    rows, heads = _rows(lines, "mse_few")
    best: dict[str, Goal] = dict.fromkeys(heads, "lowest")
    return Table(
        "Forecasts from six origins: mean squared error of standardized values",
        ("series", "method", "seeds", *heads),
        [row[:-1] for row in rows],
        _COMMAND,
        "AutoETS and AutoARIMA are fitted to the four weeks before each origin. Six windows per "
        "channel say little about small differences.",
        best,
        ("series",),
    )


def _horizons(lines: Sequence[Line]) -> list[int]:
    return sorted({int(line["horizon"]) for line in lines})


def _rows(lines: Sequence[Line], field: str) -> tuple[list[tuple[Cell, ...]], list[str]]:
    """A row per series and method that has this field for some horizon; the coverage is last."""
    horizons = _horizons(lines)
    found = grouped(lines, "series", "model", "horizon")
    rows: list[tuple[Cell, ...]] = []
    for series, model in dict.fromkeys((line["series"], line["model"]) for line in lines):
        seeds = [found.get((series, model, horizon), []) for horizon in horizons]
        cells = [_mean(some, field, model) for some in seeds]
        inside = [line["coverage"] for some in seeds for line in some]
        coverage = (
            sum(inside) / len(inside) if inside and not any(map(math.isnan, inside)) else None
        )
        if any(cell is not None for cell in cells):
            count = max(map(len, seeds)) if model == _RANDOM else None
            rows.append((series, model, count, *cells, coverage))
    rows.sort(key=lambda row: str(row[0]))
    return rows, [f"{horizon} steps" for horizon in horizons]


def _mean(seeds: Sequence[Line], field: str, model: str) -> Cell:
    values = [line[field] for line in seeds if not math.isnan(line[field])]
    if not values:
        return None
    return spread(values) if model == _RANDOM else values[0]
