"""The benchmarks as tables: our time beside the limit and beside what one would use instead."""

import json
import pathlib
from collections.abc import Mapping
from typing import NamedTuple

from .._errors import UserError
from .table import Cell, Table, Timing

BENCHMARKS = ("layer", "memory", "scan", "data")
_NOTES = {
    "layer": "Limit: the two matrix products of the layer, with no scan between them. S5's way: "
    "jax.lax.associative_scan over complex numbers, after S5's published description. "
    "s5-pytorch: the PyPI package on CPU torch, timed apart from the others, beside ours again.",
    "memory": "Dense: HiPPO's bilinear update, solving in each step, or with all of its matrices "
    "prepared beforehand, which a stream of unknown length cannot have.",
    "scan": "The scan along time by method; with constant gates, in complex64.",
    "data": "A batch of data beside the training step that uses it: training never waits when the "
    "last column is above 1.",
}


def command(name: str) -> str:
    """What makes benchmarks/NAME.json."""
    return f"fractal bench {name} --json"


class Benchmark(NamedTuple):
    """Its tables, and with what machine and settings it was measured."""

    tables: list[Table]
    setting: str


def read_benchmark(folder: pathlib.Path, name: str) -> Benchmark | None:
    """What `fractal bench NAME --json` wrote; None where there is no such file."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    make = {"layer": _layer, "memory": _memory, "scan": _scan, "data": _data}[name]
    try:
        found = json.loads(path.read_bytes())
        return Benchmark(make(found), _setting(found))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        said = f"is not what `{command(name)}` prints; make it again"
        raise UserError(f"{path} {said}") from None


def _setting(found: Mapping) -> str:
    parts = [*found["machine"].items(), *found["setting"].items()]
    return ", ".join(f"{name} {value}" for name, value in parts)


def _timing(row: Mapping) -> Timing:
    return Timing(*(float(row[name]) for name in ("median", "low", "high")))


def _over(time: Timing, other: Timing | None) -> float | None:
    return time.median / other.median if other else None


def _layer(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for kind, contestants in found["milliseconds"].items():
        times = {name: _timing(row) for name, row in contestants.items()}
        for name, time in times.items():
            limit, ours = times.get("limit"), times.get("ours")
            rows.append((str(kind), str(name), time, _over(time, limit), _over(time, ours)))
    header = ("pass", "layer", "milliseconds (quartiles)", "times the limit", "times ours")
    tables = [Table("A layer", header, rows, command("layer"), _NOTES["layer"])]
    if "length_16384" in found:
        keys = ("compile_seconds", "milliseconds", "megabytes")
        long: list[tuple[Cell, ...]] = [
            (str(name), *(float(row[key]) for key in keys))
            for name, row in found["length_16384"].items()
        ]
        header = ("layer", "seconds to compile", "milliseconds", "megabytes")
        caption = "Forward and backward of 16,384 steps"
        tables.append(Table(caption, header, long, command("layer")))
    return tables


def _memory(found: Mapping) -> list[Table]:
    times = {name: _timing(row) for name, row in found["microseconds_per_sample"].items()}
    rows: list[tuple[Cell, ...]] = [
        (str(name), time, _over(time, times["block"])) for name, time in times.items()
    ]
    header = ("memory", "µs a sample (quartiles)", "times ours, in blocks")
    caption = "The online memory, for each sample"
    return [Table(caption, header, rows, command("memory"), _NOTES["memory"])]


def _scan(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    methods: tuple[str, ...] = ()
    for name, row in found["milliseconds"].items():
        kind, length = name.rsplit(", L = ", 1)
        times = {method: _timing(one) for method, one in row.items()}
        methods = methods or tuple(times)
        fastest = min(times, key=lambda method: times[method].median)
        cells = (times[method] for method in methods)
        rows.append((kind, int(length), *cells, fastest))
    rows.sort(key=lambda row: (str(row[0]), row[1]))
    header = ("pass and size", "length", *methods, "fastest")
    caption = "The scan by method and length: milliseconds (quartiles)"
    return [Table(caption, header, rows, command("scan"), _NOTES["scan"])]


def _data(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for task, row in found["milliseconds"].items():
        batch, step = _timing(row["a batch"]), _timing(row["a step"])
        rows.append((str(task), batch, step, step.median / batch.median))
    header = ("task", "ms a batch", "ms a training step", "batches ready for each that is used")
    caption = "Data beside training"
    return [Table(caption, header, rows, command("data"), _NOTES["data"])]
