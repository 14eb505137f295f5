"""`fractal bench`: speed as ratios measured in one run."""

import dataclasses
import json
from typing import Annotated, Literal

import tyro
from rich.table import Table

from .console import Stdout


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure our speed beside what one would use instead, in one interleaved run.

    Example: fractal bench memory --json

    Args:
        subject: what to measure: the online memory, the scan by method and length, the layer
            against its limit and S5, or whether the data keeps ahead of training.
        json: print one JSON object instead of a table.
    """

    subject: Annotated[Literal["memory", "scan", "layer", "data"], tyro.conf.Positional]
    json: bool = False

    def run(self) -> int:
        """Print the result; speed has no verdict."""
        if self.subject == "memory":
            from ..bench.memory import bench_memory as bench
        elif self.subject == "scan":
            from ..bench.scan import bench_scan as bench  # loads JAX
        elif self.subject == "layer":
            from ..bench.layer import bench_layer as bench
        else:
            from ..bench.data import bench_data as bench
        result = bench()
        if self.json:
            print(json.dumps(result, indent=2))
        else:
            _show(result)
        return 0


_SHOWN = ("machine", "setting", "milliseconds", "microseconds_per_sample", "fastest")


def _show(result: dict) -> None:
    console = Stdout()
    for part in ("machine", "setting"):
        console.print(", ".join(f"{key}: {value}" for key, value in result[part].items()))
    if "milliseconds" in result:
        for name, methods in result["milliseconds"].items():
            _times(console, f"ms, {name}", methods)
    else:
        _times(console, "µs a sample", result["microseconds_per_sample"])
    for name, value in result.items():
        label = name.replace("_", " ")
        if isinstance(value, float):
            console.print(f"{label}: {value:,.2f}")
        elif isinstance(value, dict) and name not in _SHOWN:
            console.print(f"{label}: " + ", ".join(_brief(k, v) for k, v in value.items()))


def _brief(name: str, value: object) -> str:
    if isinstance(value, dict):
        return f"{name} ({', '.join(_brief(k, v) for k, v in value.items())})"
    shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
    return f"{name.replace('_', ' ')} {shown}"


def _times(console: Stdout, title: str, rows: dict) -> None:
    table = Table(title, "median", "quartiles")
    for name, timing in rows.items():
        spread = f"{timing['low']:.3f} … {timing['high']:.3f}"
        table.add_row(name, f"{timing['median']:.3f}", spread)
    console.print(table)
