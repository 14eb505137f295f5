"""A heart beat noticed in a stream: how early, and how surely."""

import math
from collections.abc import Sequence

from fractal.report.table import Cell, Table, spread, value

from .results import Line, stale_note
from .summaries import command, grouped

_RANDOM = "fractal"  # the only method here that depends on a seed


def beats(lines: Sequence[Line]) -> Table:
    """A row per method, the surest first. One event is too few to mark a best method."""
    rows: list[tuple[Cell, ...]] = []
    for (method,), seeds in grouped(lines, "method").items():
        count = sum(math.isfinite(line["delay"]) for line in seeds)
        cells = [_mean(seeds, name) for name in ("threshold", "peak", "margin")]
        delay = _mean(seeds, "delay") if count == len(seeds) else None
        alarms = _mean(seeds, "false_alarms")
        rows.append((method, *cells, f"{count} of {len(seeds)}", delay, alarms))
    rows.sort(key=lambda row: -value(row[3]))
    seconds = max((line["regular_seconds"] for line in lines), default=math.nan)
    return Table(
        "A premature heart beat in a stream: how surely and how early it is noticed",
        (
            *("method", "threshold", "peak score", "margin", "noticed", "delay, s"),
            "false alarms at 0.8 × peak score",
        ),
        rows,
        command("ecg"),
        f"Threshold: largest score in {seconds:.1f} s of regular beats before. Margin: peak score "
        "÷ threshold. Noticed: seeds in which a score is above the threshold. Delay: from the R "
        "peak to the first such score. False alarms: alarms during the regular beats if the "
        f"threshold were 0.8 times the peak score. {stale_note('ecg', lines)}".strip(),
    )


def _mean(seeds: Sequence[Line], name: str) -> Cell:
    values = [line[name] for line in seeds]
    return spread(values) if seeds[0]["method"] == _RANDOM else values[0]
