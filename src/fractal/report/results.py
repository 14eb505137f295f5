"""What the experiments have written: results/*.jsonl.

The files may come from anyone: every field that is used is checked, other fields are left out.
"""

import json
import math
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .._errors import UserError

Line = dict[str, Any]
Kind = Callable[[Any], Any]


def text(value: Any) -> str:
    """A name."""
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def number(value: Any) -> int | float:
    """A number; null, as JSON has no NaN, stands for one that is not finite or not known."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if abs(value) > sys.float_info.max:
        return math.nan
    return value


def numbers(value: Any) -> list[int | float]:
    """A list of numbers."""
    if not isinstance(value, list):
        raise ValueError("must be a list of numbers")
    return [number(one) for one in value]


def perhaps_numbers(value: Any) -> list[int | float] | None:
    """A list of numbers, or null."""
    return None if value is None else numbers(value)


def points(value: Any) -> list[list[int | float]]:
    """A curve: pairs of numbers."""
    if not isinstance(value, list) or any(len(numbers(pair)) != 2 for pair in value):
        raise ValueError("must be a list of pairs of numbers")
    return [numbers(pair) for pair in value]


def scores(value: Any) -> dict[str, int | float]:
    """Numbers by name."""
    if not isinstance(value, dict):
        raise ValueError("must be an object of numbers")
    return {text(name): number(one) for name, one in value.items()}


_TRAINED = {"steps": number, "early_loss": number, "late_loss": number, "test_accuracy": number}
# The fields that the report reads of each experiment.
EXPERIMENTS: dict[str, Mapping[str, Kind]] = {
    "recall": {
        "signal": text,
        "memory": text,
        "seed": number,
        "order": number,
        "ages": numbers,
        "error": numbers,
    },
    "initialization": {
        "task": text,
        "init": text,
        "dt_min": number,
        "dt_max": number,
        "seed": number,
        "parameters": number,
        **_TRAINED,
        "validation_accuracy": number,
        "curve": points,
    },
    "filter_bank": {
        "task": text,
        "bank": text,
        "clock": text,
        "seed": number,
        **_TRAINED,
        "alphas": perhaps_numbers,
    },
    "clock": {
        "task": text,
        "model": text,
        "direction": text,
        "pooling": text,
        "seed": number,
        "parameters": number,
        "steps": number,
        "accuracy": scores,
    },
    "table": {
        "task": text,
        "model": text,
        "seed": number,
        "parameters": number,
        "examples": number,
        "seconds": number,
        **_TRAINED,
        "chance": number,
        "bag": number,
        "curve": points,
    },
    "long_memory": {
        "series": text,
        "model": text,
        "seed": number,
        "parameters": number,
        "mse_1": number,
        "mse_24": number,
        "best_1": number,
        "best_24": number,
        "alphas": perhaps_numbers,
    },
}


def read_experiment(folder: pathlib.Path, name: str) -> list[Line] | None:
    """The lines of an experiment; None where there are none yet."""
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        return None
    found = []
    for place, raw in enumerate(path.read_bytes().split(b"\n"), 1):
        if raw.strip():
            try:
                found.append(_checked(raw, name))
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}, line {place}: {error or 'nested too deeply'}") from None
    return found or None


def _checked(raw: bytes, name: str) -> Line:
    try:
        line = json.loads(raw)
    except ValueError:
        raise ValueError("is not JSON; mend or remove the line") from None
    if not isinstance(line, dict):
        raise ValueError("is not a JSON object")
    found = {}
    for field, kind in EXPERIMENTS[name].items():
        if field not in line and kind is not perhaps_numbers:
            raise ValueError(f"has no {field!r}")
        try:
            found[field] = kind(line.get(field))
        except ValueError as error:
            raise ValueError(f"{field!r} {error}") from None
    if name == "recall" and not 1 <= len(found["error"]) == len(found["ages"]) - 1:
        raise ValueError("'error' must have an entry for each two neighbors of 'ages'")
    return found
