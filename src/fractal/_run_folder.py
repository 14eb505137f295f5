"""The files of a run's folder: their names, and how they are read.

The files may come from anyone and from an interrupted run. Everything that is used is checked; an
invalid file raises a `UserError` of one line. An incomplete last line of metrics is left out.
"""

import json
import math
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._errors import UserError
from ._files import read_tensors, write_tensors
from ._predictions import Predictions

CONFIG, METRICS, RESULT = "config.json", "metrics.jsonl", "result.json"
WEIGHTS, PREDICTIONS, CHECKPOINTS = "model.safetensors", "predictions.safetensors", "checkpoints"

_FORMAT, _VERSION = "fractal.predictions", 1
_LARGEST = 1_000_000  # bytes of a JSON file


def is_finished(run: pathlib.Path) -> bool:
    """Whether training has written everything: scores, weights and predictions, in this order."""
    return all((run / name).is_file() for name in (RESULT, WEIGHTS, PREDICTIONS))


def read_bytes(path: pathlib.Path, largest: int | None = _LARGEST) -> bytes:
    """The content of a file of at most `largest` bytes."""
    try:
        size = path.stat().st_size
        if largest is None or size <= largest:
            return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    raise UserError(f"{path} is too large: {size:,} bytes")


def read_object(path: pathlib.Path) -> dict[str, Any]:
    """The JSON object in a file."""
    return _object(read_bytes(path), str(path))


def _object(raw: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise UserError(f"{where}: is not JSON") from None
    if not isinstance(found, dict):
        raise UserError(f"{where}: is not a JSON object")
    return found


def metric_lines(run: pathlib.Path) -> Iterator[tuple[bytes, dict[str, float]]]:
    """Each line of metrics.jsonl, and its numbers by name, which include the step."""
    path = run / METRICS
    lines = read_bytes(path, None).split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        where = f"{path}, line {number}"
        try:
            numbers = {name: number_of(x) for name, x in _object(raw, where).items()}
        except UserError:
            if number == len(lines):  # without its end: the run was killed while writing
                return
            raise
        if not math.isfinite(numbers.get("step", math.nan)):
            raise UserError(f"{where}: has no step")
        yield raw, {name: x for name, x in numbers.items() if not math.isnan(x)}


def number_of(value: object) -> float:
    """A JSON value as a number; NaN where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def write_predictions(run: pathlib.Path, predictions: Predictions) -> None:
    """Write predictions.safetensors."""
    metadata = {"format": _FORMAT, "version": str(_VERSION)}
    write_tensors(run / PREDICTIONS, predictions._asdict(), metadata)


def read_predictions(run: pathlib.Path) -> Predictions:
    """Predictions of consistent shapes, in float64 and int64."""
    path = run / PREDICTIONS
    try:
        tensors, _ = read_tensors(path, _FORMAT, _VERSION)
        logits, targets = (tensors.get(name) for name in Predictions._fields)
        if logits is None or targets is None:
            raise ValueError("it has no tensors logits and targets")
    except (ValueError, TypeError) as error:
        message = f"{path}: is not a file of predictions ({error})"
        raise UserError(" ".join(message.split())) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return _checked(logits, targets, path)


def _checked(logits: np.ndarray, targets: np.ndarray, path: pathlib.Path) -> Predictions:
    shapes = f"logits {logits.shape} and targets {targets.shape} do not match"
    problem = None
    if logits.ndim != 2 or not logits.size or targets.shape[:1] != logits.shape[:1]:
        problem = shapes
    elif logits.dtype.kind not in "fiu" or targets.dtype.kind not in "fiu":
        problem = f"values are {logits.dtype} and {targets.dtype}, not numbers"
    elif not np.isfinite(logits).all() or not np.isfinite(targets).all():
        problem = "values are not finite"
    elif targets.dtype.kind in "iu" and targets.ndim == 1:
        if targets.min() < 0 or targets.max() >= logits.shape[1]:
            problem = f"a target is not one of {logits.shape[1]} classes"
        targets = targets.astype(np.int64)
    elif targets.size == logits.size:
        targets = targets.reshape(logits.shape).astype(np.float64)
    else:
        problem = shapes
    if problem:
        raise UserError(f"{path}: {problem}")
    return Predictions(logits.astype(np.float64), targets)
