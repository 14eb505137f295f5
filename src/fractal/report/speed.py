"""Benchmarks as tables: time of this library, its lower bound, and alternatives."""

import json
import math
import pathlib
from collections.abc import Mapping
from typing import NamedTuple

from .._errors import UserError
from .table import Cell, Quartiles, Table

BENCHMARKS = ("layer", "step", "memory", "stream", "torch", "scan", "data")
DEFAULT_FOLDER = pathlib.Path("benchmarks")
_NOTES = {
    "layer": "Lower bound: the two matrix products of the layer, without the scan. S5 scan: "
    "`jax.lax.associative_scan` over complex numbers, written from S5's published description. "
    "s5-pytorch: the PyPI package on CPU, measured apart from the others, interleaved with ours.",
    "step": "Value and gradient of the training objective for one batch of random data. Lower "
    "bound: the matrix products of all blocks, forward and backward, and nothing else. "
    'Associative: S5 with `scan="associative"`, as published.',
    "stream": "One sample per call of a compiled model (`Streaming`), with JAX's asynchronous "
    "dispatch on and off; the same steps within one compiled program; a call without arithmetic; "
    "the same model exported to C and to ONNX.",
    "torch": "s5-pytorch: the PyPI package. Memory: what one gradient adds to the peak of a "
    "process.",
    "memory": "Dense: HiPPO's bilinear update, solved in each step, or with all matrices "
    "precomputed, which needs the length of the stream in advance.",
    "scan": "The scan along time by method, with constant decay factors, in complex64.",
    "data": "Time to prepare a batch and time of the train step that uses it. Training does not "
    "wait for data where the last column is above 1.",
}


def command(name: str) -> str:
    """The command that writes benchmarks/NAME.json."""
    return f"fractal bench {name} --json"


class Benchmark(NamedTuple):
    """The tables of a benchmark, and the machine, versions and settings it was measured with."""

    tables: list[Table]
    setting: str


def missing_benchmarks(folder: pathlib.Path) -> list[str]:
    """The files of benchmarks that a folder does not contain."""
    return [name for name in (f"{one}.json" for one in BENCHMARKS) if not (folder / name).is_file()]


def read_benchmark(folder: pathlib.Path, name: str) -> Benchmark | None:
    """The output of `fractal bench NAME --json`; None where there is no such file."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    make = {
        "layer": _layer,
        "step": _step,
        "stream": _stream,
        "torch": _torch,
        "memory": _memory,
        "scan": _scan,
        "data": _data,
    }[name]
    try:
        found = json.loads(path.read_bytes())
        return Benchmark(make(found), _setting(found))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise UserError(f"{path} is not the output of `{command(name)}`; run it again") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _setting(found: Mapping) -> str:
    made = found.get("provenance") or {}
    parts = {**(made.get("machine") or {}), **(made.get("versions") or {}), **found["setting"]}
    when = {"commit": str(made.get("commit"))[:12], "date": made.get("date")}
    return ", ".join(f"{name} {value}" for name, value in {**parts, **when}.items())


def _quartiles(row: Mapping) -> Quartiles:
    return Quartiles(*(_number(row[name]) for name in ("median", "low", "high")))


def _number(value: object) -> float:
    """A positive number: a time, or a size."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number")
    if not 0 < value < math.inf:
        raise ValueError(f"{value!r} is not a time")
    return float(value)


def _over(time: Quartiles, other: Quartiles | None) -> float | None:
    return time.median / other.median if other else None


def _layer(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for kind, candidates in found["milliseconds"].items():
        times = {name: _quartiles(row) for name, row in candidates.items()}
        for name, time in times.items():
            bound, ours = times.get("lower bound"), times.get("ours")
            rows.append((str(kind), str(name), time, _over(time, bound), _over(time, ours)))
    header = ("pass", "layer", "milliseconds (quartiles)", "× lower bound", "× ours")
    tables = [Table("Layer", header, rows, command("layer"), _NOTES["layer"])]
    if "length_16384" in found:
        keys = ("compile_seconds", "milliseconds", "megabytes")
        long: list[tuple[Cell, ...]] = [
            (str(name), *(_number(row[key]) for key in keys))
            for name, row in found["length_16384"].items()
        ]
        header = ("layer", "seconds to compile", "milliseconds", "megabytes")
        caption = "Forward and backward of 16,384 steps"
        tables.append(Table(caption, header, long, command("layer")))
    return tables


def _step(found: Mapping) -> list[Table]:
    costs = {
        "gigaflop_per_second": "GFLOP/s",
        "megabytes": "megabytes",
        "compile_seconds": "seconds to compile",
        "busy_cores": "busy cores",
    }
    rows: list[tuple[Cell, ...]] = []
    for case, timings in found["milliseconds"].items():
        times = {name: _quartiles(row) for name, row in timings.items()}
        label = f"{case}, batch {int(_number(found['batch'][case]))}"
        for name in found["busy_cores"][case]:
            time, bound = times[name], times[f"{name}, matrix products"]
            faster = times["s5, associative"].median / time.median
            # A program from a compilation cache has no compile time.
            values = (found[cost][case][name] for cost in costs)
            cells = (None if one is None else _number(one) for one in values)
            rows.append((label, str(name), time, _over(time, bound), faster, *cells))
    header = ("preset", "model", "milliseconds (quartiles)", "× lower bound")
    header += ("× faster than associative", *costs.values())
    return [Table("Gradient of one batch", header, rows, command("step"), _NOTES["step"])]


def _stream(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = [
        (str(name), row if isinstance(row, str) else _quartiles(row))
        for name, row in found["microseconds_per_sample"].items()
    ]
    header = ("call", "µs per sample (quartiles)")
    caption = "Streaming, time per sample"
    tables = [Table(caption, header, rows, command("stream"), _NOTES["stream"])]
    if "bytes" in found:
        parts = ("state", "weights", "code", "file")
        sizes: list[tuple[Cell, ...]] = [
            (str(name), *(int(row[part]) if part in row else None for part in parts))
            for name, row in found["bytes"].items()
        ]
        caption = "The same model, bytes"
        tables.append(Table(caption, ("model", *parts), sizes, command("stream")))
    return tables


def _torch(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for kind, candidates in found["milliseconds"].items():
        times = {name: _quartiles(row) for name, row in candidates.items()}
        rows += [
            (str(kind), str(name), time, _over(time, times.get("ours")))
            for name, time in times.items()
        ]
    header = ("pass", "layer", "milliseconds (quartiles)", "× ours")
    timed = Table("Layer in PyTorch", header, rows, command("torch"), _NOTES["torch"])
    long: list[tuple[Cell, ...]] = [
        (str(name), _number(row["megabytes"]))
        for name, row in found["memory_of_length_16384"].items()
    ]
    caption = "Forward and backward of 16,384 steps in PyTorch"
    return [timed, Table(caption, ("layer", "megabytes"), long, command("torch"))]


def _memory(found: Mapping) -> list[Table]:
    times = {name: _quartiles(row) for name, row in found["microseconds_per_sample"].items()}
    rows: list[tuple[Cell, ...]] = [
        (str(name), time, _over(time, times["block"])) for name, time in times.items()
    ]
    header = ("memory", "µs per sample (quartiles)", "× ours, in blocks")
    caption = "Online memory, time per sample"
    return [Table(caption, header, rows, command("memory"), _NOTES["memory"])]


def _scan(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    methods: tuple[str, ...] = ()
    for name, row in found["milliseconds"].items():
        kind, length = name.rsplit(", L = ", 1)
        times = {method: _quartiles(one) for method, one in row.items()}
        methods = methods or tuple(times)
        fastest = min(times, key=lambda method: times[method].median)
        cells = (times[method] for method in methods)
        rows.append((kind, int(length), *cells, fastest))
    rows.sort(key=lambda row: (str(row[0]), row[1]))
    header = ("pass and size", "length", *methods, "fastest")
    caption = "Scan by method and length: milliseconds (quartiles)"
    return [Table(caption, header, rows, command("scan"), _NOTES["scan"])]


def _data(found: Mapping) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for task, row in found["milliseconds"].items():
        batch, step = _quartiles(row["batch"]), _quartiles(row["step"])
        rows.append((str(task), batch, step, step.median / batch.median))
    header = ("task", "ms per batch", "ms per train step", "batches prepared per step")
    caption = "Data and training"
    return [Table(caption, header, rows, command("data"), _NOTES["data"])]
