"""Run folders as `fractal train` and `fractal compare` write them, read for a report.

The files may come from anyone and from an interrupted run: everything that is used is checked, and
what does not exist yet is None.
"""

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._errors import UserError
from .._predictions import Predictions
from .._run_folder import (
    CONFIG,
    METRICS,
    PREDICTIONS,
    RESULT,
    WEIGHTS,
    metric_lines,
    read_object,
    read_predictions,
)


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
    predictions: Predictions | None
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
        runs = [path] if (path / CONFIG).is_file() else _below(path)
        if not runs:
            raise UserError(f"{path}: no run in it or in its folders (no {CONFIG})")
        for run in runs:
            found.setdefault(run.resolve(), run)
    return list(found.values())


def _below(path: pathlib.Path) -> list[pathlib.Path]:
    files = [file for depth in ("*", "*/*") for file in path.glob(f"{depth}/{CONFIG}")]
    return sorted(file.parent for file in files)


def read_run(folder: pathlib.Path) -> Run:
    """Read one run; UserError names the file that cannot be used."""
    settings = _settings(folder / CONFIG)
    weights = folder / WEIGHTS
    return Run(
        folder,
        settings,
        [line for _, line in metric_lines(folder)] if (folder / METRICS).exists() else [],
        read_object(folder / RESULT) if (folder / RESULT).exists() else None,
        read_predictions(folder) if (folder / PREDICTIONS).exists() else None,
        weights.stat().st_size if weights.is_file() else None,
    )


def _settings(path: pathlib.Path) -> dict[str, Any]:
    found = flat(read_object(path))
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
