"""The speed of the layer before and after its engine of scans, and of whole steps: benchmarks/.

`benchmarks/before/layer.json` is a measurement of the last commit before the engine.
"""

import json
import pathlib
from typing import Any

from fractal.report.speed import read_benchmark
from fractal.report.table import Cell, Table, markdown

_PASSES = ("forward", "forward + backward")


def before_and_after(benchmarks: pathlib.Path) -> str:
    """Ratios of `fractal bench layer`, and the commits that they were measured with."""
    old, new = (_read(benchmarks / part) for part in ("before/layer.json", "layer.json"))
    before, after = (_source(one["provenance"]) for one in (old, new))
    one_machine = old["provenance"]["machine"] == new["provenance"]["machine"]
    note = "" if one_machine else " The ratios of two machines are comparable only roughly."
    return (
        f"{markdown(_table(old, new))}\n"
        f"`fractal bench layer`, forward / with gradients. Before: {before}; after: {after}.{note}"
    )


def whole_step(benchmarks: pathlib.Path) -> str:
    """The table of `fractal bench step`, and the commits that its cases were measured with."""
    measured = read_benchmark(benchmarks, "step")
    assert measured is not None, "benchmarks/ has no step.json"
    found = _read(benchmarks / "step.json")
    sources = dict.fromkeys(_source(found["provenance"] | one) for one in found["sources"].values())
    (table,) = measured.tables
    return f"{markdown(table)}\n{table.note} Measured with {'; '.join(sources)}."


def _source(made: dict[str, Any]) -> str:
    return f"commit {made['commit'][:8]}, {made['date'][:10]}, {made['machine']['processor']}"


def _read(path: pathlib.Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _table(old: dict, new: dict) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (name, *(_both(one, above, below) for one in (old, new)), aim)
        for name, above, below, aim in (
            ("layer ÷ its two matrix products", "ours", "lower bound", "1.25 / 1.2"),
            ("bidirectional ÷ unidirectional", "ours, bidirectional", "ours", "1.7 / 1.7"),
            ("irregular ÷ constant steps", "ours, irregular steps", "ours", "1.2 / 1.2"),
            ("scale-invariant ÷ uniform clock", "ours, scale-invariant", "ours", "1.2 / 1.2"),
            ("S5's scan ÷ layer", "S5 scan", "ours", ""),
        )
    ]
    name = "16,384 steps ÷ 8 × 2,048 steps, with gradients"
    rows.append((name, *(f"{one['time_of_long_over_linear']:.2f}" for one in (old, new)), "1.1"))
    seconds = (one["length_16384"]["ours"]["compile_seconds"] for one in (old, new))
    rows.append(("seconds to compile 16,384 steps", *(f"{one:.1f}" for one in seconds), "5"))
    return Table("", ("", "before", "after", "aim"), rows, "")


def _both(found: dict, above: str, below: str) -> str:
    times = [found["milliseconds"][one] for one in _PASSES]
    if any(above not in row for row in times):
        return "not measured"
    return " / ".join(f"{row[above]['median'] / row[below]['median']:.2f}" for row in times)
