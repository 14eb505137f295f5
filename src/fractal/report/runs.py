"""Run folders as `fractal train` and `fractal compare` write them, read for a report.

The files may come from anyone and from an interrupted run: everything that is used is checked, and
what does not exist yet is None.
"""

import dataclasses
import json
import math
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import safetensors
from jaxtyping import Float, Int, Num

from .._errors import UserError


class SavedPredictions(NamedTuple):
    """Outputs of the model for the test set, in its order: classes, or values of a regression."""

    logits: Float[np.ndarray, "examples outputs"]
    targets: Int[np.ndarray, " examples"] | Float[np.ndarray, "examples outputs"]

    @property
    def classes(self) -> bool:
        """Whether the targets are classes."""
        return self.targets.ndim == 1

    def losses(self) -> Float[np.ndarray, " examples"]:
        """Cross-entropy, or mean squared error, of each example."""
        logits = self.logits.astype(float)
        if not self.classes:
            return np.mean((logits - self.targets) ** 2, axis=1)
        highest = logits.max(axis=1, keepdims=True)
        total = np.log(np.exp(logits - highest).sum(axis=1)) + highest[:, 0]
        return total - logits[np.arange(len(logits)), self.targets]


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: its settings by dotted name, its metrics, and what it has reached so far.

    - `metrics`: the lines of metrics.jsonl.
    - `result`: result.json; None for a run that is not finished.
    - `predictions`: predictions.safetensors; None where it does not exist.
    - `weight_bytes`: size of model.safetensors; None where it does not exist.
    """

    folder: pathlib.Path
    settings: Mapping[str, Any]
    metrics: Sequence[Mapping[str, float]]
    result: Mapping[str, Any] | None
    predictions: SavedPredictions | None
    weight_bytes: int | None

    @property
    def task(self) -> str:
        return self.settings["data.task"]

    @property
    def model(self) -> str:
        return self.settings["model.name"]

    @property
    def seed(self) -> object:
        return self.settings.get("seed", 0)

    @property
    def step(self) -> int:
        """The last step with metrics."""
        return max((int(line["step"]) for line in self.metrics), default=0)

    def curve(self, name: str) -> tuple[list[int], list[float]]:
        """Steps and values of a metric."""
        found = {int(line["step"]): line[name] for line in self.metrics if name in line}
        return list(found), list(found.values())


def find_runs(paths: Iterable[str | os.PathLike]) -> list[pathlib.Path]:
    """The run folders among `paths`, and in them and their subfolders; each once."""
    found: dict[pathlib.Path, pathlib.Path] = {}
    for path in map(pathlib.Path, paths):
        if not path.is_dir():
            what = "is a file, not the folder of a run" if path.exists() else "no such folder"
            raise UserError(f"{path}: {what}")
        runs = [path] if (path / "config.json").is_file() else _below(path)
        if not runs:
            raise UserError(f"{path}: no run in it or in its folders (no config.json)")
        for run in runs:
            found.setdefault(run.resolve(), run)
    return list(found.values())


def _below(path: pathlib.Path) -> list[pathlib.Path]:
    files = [file for depth in ("*", "*/*") for file in path.glob(f"{depth}/config.json")]
    return sorted(file.parent for file in files)


def read_run(folder: pathlib.Path) -> Run:
    """Read one run; UserError names the file that cannot be used."""
    settings = _settings(folder / "config.json")
    result = folder / "result.json"
    weights = folder / "model.safetensors"
    return Run(
        folder,
        settings,
        _metrics(folder / "metrics.jsonl"),
        _object(result) if result.exists() else None,
        _predictions(folder / "predictions.safetensors"),
        weights.stat().st_size if weights.is_file() else None,
    )


def _bytes(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _parsed(raw: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise UserError(f"{where}: is not JSON") from None
    if not isinstance(found, dict):
        raise UserError(f"{where}: is not a JSON object")
    return found


def _object(path: pathlib.Path) -> dict[str, Any]:
    return _parsed(_bytes(path), str(path))


def _settings(path: pathlib.Path) -> dict[str, Any]:
    found = flat(_object(path))
    for name in ("data.task", "model.name"):
        if not isinstance(found.get(name), str):
            raise UserError(f"{path}: is not the configuration of a run (no text {name})")
    return found


def flat(tree: Mapping[str, Any], start: str = "") -> dict[str, Any]:
    """Nested settings by dotted name."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            found |= flat(value, f"{start}{name}.")
        else:
            found[f"{start}{name}"] = value
    return found


def _metrics(path: pathlib.Path) -> list[dict[str, float]]:
    if not path.exists():
        return []
    *lines, rest = _bytes(path).split(b"\n")
    if rest.strip().endswith(b"}"):  # a last line without its end may be cut off
        lines.append(rest)
    found = []
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        line = _parsed(raw, f"{path}, line {number}")
        numbers = {name: number_of(value) for name, value in line.items()}
        if not math.isfinite(numbers.get("step", math.nan)):
            raise UserError(f"{path}, line {number}: has no step")
        found.append({name: x for name, x in numbers.items() if not math.isnan(x)})
    return found


def number_of(value: object) -> float:
    """A JSON value as a number; NaN where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _predictions(path: pathlib.Path) -> SavedPredictions | None:
    if not path.exists():
        return None
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            logits, targets = (file.get_tensor(name) for name in ("logits", "targets"))
    except safetensors.SafetensorError as error:
        raise UserError(f"{path}: is not a file of predictions ({error})") from None
    except (OSError, TypeError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    return _checked(logits, targets, path)


def _checked(
    logits: Num[np.ndarray, "..."], targets: Num[np.ndarray, "..."], path: pathlib.Path
) -> SavedPredictions:
    """SavedPredictions of consistent shapes, in types that the report computes with."""
    problem = None
    if logits.ndim != 2 or not len(logits) or len(targets) != len(logits):
        problem = f"logits {logits.shape} and targets {targets.shape} do not match"
    elif not np.isfinite(logits).all() or not np.isfinite(targets).all():
        problem = "values are not finite"
    elif np.issubdtype(targets.dtype, np.integer) and targets.ndim == 1:
        if targets.min() < 0 or targets.max() >= logits.shape[1]:
            problem = f"a target is no class of {logits.shape[1]}"
        targets = targets.astype(np.int64)
    else:
        targets = targets.reshape(len(targets), -1).astype(np.float64)
        if targets.shape != logits.shape:
            problem = f"logits {logits.shape} and targets {targets.shape} do not match"
    if problem:
        raise UserError(f"{path}: {problem}")
    return SavedPredictions(logits.astype(np.float64), targets)
