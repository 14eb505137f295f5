"""`fractal bench`: speed as ratios measured in one run."""

import dataclasses
import json
from typing import Annotated, Literal

import tyro
from rich.table import Table

from ..bench.memory import bench_memory
from .console import Stdout


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure our speed beside what one would use instead, in one interleaved run.

    Example: fractal bench memory --json

    Args:
        subject: what to measure: the online memory.
        json: print one JSON object instead of a table.
    """

    subject: Annotated[Literal["memory"], tyro.conf.Positional]
    json: bool = False

    def run(self) -> int:
        """Print the result; speed has no verdict."""
        result = bench_memory()
        if self.json:
            print(json.dumps(result, indent=2))
        else:
            _show(result)
        return 0


def _show(result: dict) -> None:
    console = Stdout()
    console.print(", ".join(f"{key}: {value}" for key, value in result["machine"].items()))
    console.print(", ".join(f"{key}: {value}" for key, value in result["setting"].items()))
    table = Table("µs a sample", "median", "quartiles")
    for name, timing in result["microseconds_per_sample"].items():
        table.add_row(
            name, f"{timing['median']:.3f}", f"{timing['low']:.3f} … {timing['high']:.3f}"
        )
    console.print(table)
    for name, value in result.items():
        if isinstance(value, float):
            console.print(f"{name.replace('_', ' ')}: {value:,.1f}")
