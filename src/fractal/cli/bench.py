"""`fractal bench`: speed, as ratios measured in one process."""

import dataclasses
import json
from typing import Annotated, Literal

import tyro
from rich.table import Table

from .console import Stdout


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure the speed of this library and of alternatives, in turns in one process.

    Example: fractal bench memory --json

    Args:
        subject: memory, the online memory; scan, the scan by method and length; layer, the layer
            compared with a lower bound, its two matrix products without the scan, and with S5;
            step, the gradient of one batch of whole models, compared with their matrix products;
            stream, a model sample by sample and in blocks; torch, the layer in PyTorch compared
            with that in JAX and with s5-pytorch; data, the time per batch and per train step.
        json: print one JSON object instead of a table.
    """

    subject: Annotated[
        Literal["memory", "scan", "layer", "step", "stream", "torch", "data"], tyro.conf.Positional
    ]
    json: bool = False

    def run(self) -> int:
        if self.subject == "memory":
            from ..bench.memory import bench_memory as bench
        elif self.subject == "scan":
            from ..bench.scan import bench_scan as bench  # loads JAX
        elif self.subject == "layer":
            from ..bench.layer import bench_layer as bench
        elif self.subject == "step":
            from ..bench.step import bench_step as bench
        elif self.subject == "stream":
            from ..bench.stream import bench_stream as bench
        elif self.subject == "torch":
            from ..bench.torch import bench_torch as bench
        else:
            from ..bench.data import bench_data as bench
        result = bench()
        if self.json:
            print(json.dumps(result, indent=2))
        else:
            _show(result)
        return 0


_SHOWN = ("provenance", "setting", "milliseconds", "microseconds_per_sample", "fastest")


def _show(result: dict) -> None:
    console = Stdout()
    made = result["provenance"]
    for part in (made["machine"], made["versions"], result["setting"]):
        console.print(", ".join(f"{key}: {value}" for key, value in part.items()))
    if "milliseconds" in result:
        for name, methods in result["milliseconds"].items():
            _times(console, f"ms, {name}", methods)
    else:
        _times(console, "µs per sample", result["microseconds_per_sample"])
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
