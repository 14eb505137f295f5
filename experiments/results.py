"""The results of the experiments: results/NAME.jsonl, one measured case per line.

Each line has the fields of its experiment, `provenance` (commit, date, versions, machine, command)
and `code`, the hash of the code that produced it. A line with another hash than the present code is
stale: it is shown with a note, and `python -m experiments.NAME` measures it again. Every field that
is used is checked; other fields are left out.
"""

import hashlib
import json
import math
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fractal.tasks import DataError
from fractal.train import preset

from . import code

Line = dict[str, Any]
Check = Callable[[Any], Any]


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def number(value: Any) -> int | float:
    """Check for a number; null, as JSON has no NaN, is one that is not finite or not known."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if abs(value) > sys.float_info.max:
        return math.nan
    return value


def numbers(value: Any) -> list[int | float]:
    if not isinstance(value, list):
        raise ValueError("must be a list of numbers")
    return [number(one) for one in value]


def perhaps_numbers(value: Any) -> list[int | float] | None:
    return None if value is None else numbers(value)


def points(value: Any) -> list[list[int | float]]:
    """Check for a curve: pairs of numbers."""
    if not isinstance(value, list) or any(len(numbers(pair)) != 2 for pair in value):
        raise ValueError("must be a list of pairs of numbers")
    return [numbers(pair) for pair in value]


def scores(value: Any) -> dict[str, int | float]:
    if not isinstance(value, dict):
        raise ValueError("must be an object of numbers")
    return {text(name): number(one) for name, one in value.items()}


def perhaps_text(value: Any) -> str | None:
    return None if value is None else text(value)


def origin(value: Any) -> dict[str, Any]:
    """Check for a provenance: an object, possibly with unknown parts."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return value


_TRAINED = {"steps": number, "early_loss": number, "late_loss": number, "test_accuracy": number}
_RATES = {
    "task": text,
    "clock": text,
    "rate": text,
    "seed": number,
    "parameters": number,
    **_TRAINED,
    "curve": points,
}
_SYNTHETIC = {
    "model": text,
    "seed": number,
    "parameters": number,
    "steps": number,
    "late_loss": number,
    "test_accuracy": number,
    "longer": scores,
    "curve": points,
}
# The fields that tables read of each experiment.
EXPERIMENTS: dict[str, Mapping[str, Check]] = {
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
    "models": {
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
    "laptop": {
        "task": text,
        "model": text,
        "seed": number,
        "parameters": number,
        "steps": number,
        "pretrain": number,
        "examples": number,
        "hours": number,
        "cpu_hours": number,
        "cores": number,
        "chance": number,
        "validation_accuracy": number,
        "test_accuracy": number,
        "best_step": number,
        "settings": origin,
        "sha256": text,
        "curve": points,
    },
    "pathfinder": {
        "task": text,
        "model": text,
        "seed": number,
        "parameters": number,
        "pretrain": number,
        **_TRAINED,
        "curve": points,
    },
    "own_series": {
        "data": text,
        "method": text,
        "seed": number,
        "accuracy": scores,
        "log_loss": number,
        "calibration_error": number,
        "confidence": perhaps_numbers,
        "correct": perhaps_numbers,
    },
    "training_cases": {
        "data": text,
        "method": text,
        "cases": number,
        "seed": number,
        "accuracy": number,
        "log_loss": number,
        "calibration_error": number,
        "fit_seconds": number,
    },
    "forecast": {
        "series": text,
        "horizon": number,
        "model": text,
        "seed": number,
        "mse": number,
        "mae": number,
        "mse_few": number,
        "coverage": number,
    },
    "ecg": {
        "method": text,
        "seed": number,
        "threshold": number,
        "peak": number,
        "margin": number,
        "delay": number,
        "false_alarms": number,
        "regular_seconds": number,
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
    "selective": _RATES,
    "full_budget": _RATES,
    "synthetic": {"task": text, "length": number, **_SYNTHETIC},
    "induction": _SYNTHETIC,
    "morse": {
        "model": text,
        "seed": number,
        "parameters": number,
        "steps": number,
        "accuracy": scores,
    },
    "speech": {
        "model": text,
        "rate": number,
        "split": text,
        "seed": number,
        "parameters": number,
        "steps": number,
        "accuracy": scores,
    },
}


_ORIGIN: Mapping[str, Check] = {"code": perhaps_text, "provenance": origin}


def code_of(name: str, case: Mapping[str, Any]) -> str | None:
    """The hash of the present code for a case; for runs of hours, with the settings of this one.

    None if there is no such run.
    """
    if name != "laptop":
        return code.current(name)
    try:
        config = preset(case["task"], "laptop", case["model"])
    except ValueError:
        return None
    return hashlib.sha256(f"{code.current(name)} {config.to_json()}".encode()).hexdigest()[:16]


def is_stale(name: str, line: Mapping[str, Any]) -> bool:
    """Whether a line was measured with other code than the present."""
    known = code_of(name, line)
    return known is None or line.get("code") != known


def stale_note(name: str, lines: Sequence[Line]) -> str:
    """A footnote on how many measurements are stale, with commits and dates; empty if none."""
    stale = [line for line in lines if is_stale(name, line)]
    if not stale:
        return ""
    made = [line.get("provenance") or {} for line in stale]
    made = sorted(made, key=lambda one: str(one.get("date") or ""))
    commits = list(dict.fromkeys((one.get("commit") or "unknown commit") for one in made))
    days = sorted({str(one["date"])[:10] for one in made if one.get("date")})
    when = f", {days[0]}" if len(days) == 1 else f", {days[0]} to {days[-1]}" if days else ""
    last = str(commits[-1])
    named = last if last.startswith("unknown") else f"commit {last[:8]}"
    named = named if len(commits) == 1 else f"commits up to {last[:8]}"
    count = f"All {len(lines)}" if len(stale) == len(lines) else f"{len(stale)} of {len(lines)}"
    return f"{count} measurements predate the current code ({named}{when})."


def read_experiment(folder: pathlib.Path, name: str) -> list[Line] | None:
    """The lines of an experiment; None where there are none yet."""
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        return None
    found: list[Line] = []
    for place, raw in enumerate(path.read_bytes().split(b"\n"), 1):
        if raw.strip():
            try:
                found.append(_checked(raw, name))
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}, line {place}: {error or 'nested too deeply'}") from None
    return found or None


def _checked(raw: bytes, name: str) -> Line:
    try:
        line = json.loads(raw)
    except ValueError:
        raise ValueError("is not JSON; correct or remove the line") from None
    if not isinstance(line, dict):
        raise ValueError("is not a JSON object")
    found = {}
    for field, kind in {**EXPERIMENTS[name], **_ORIGIN}.items():
        if field not in line and kind not in (perhaps_numbers, perhaps_text, origin):
            raise ValueError(f"has no {field!r}")
        try:
            found[field] = kind(line.get(field))
        except ValueError as error:
            raise ValueError(f"{field!r} {error}") from None
    if name == "recall" and not 1 <= len(found["error"]) == len(found["ages"]) - 1:
        raise ValueError("'error' must have one entry less than 'ages'")
    return found
