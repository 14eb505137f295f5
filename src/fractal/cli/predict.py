"""`fractal predict`: labels or numbers for the series of a file."""

import csv
import dataclasses
import json
import pathlib
import sys
from typing import Annotated, Any

import numpy as np
import safetensors
import tyro

from .._errors import UserError
from .._files import read_metadata
from .._run_folder import WEIGHTS
from .._series.content import Cases, TrainedOn
from .._series.read import read_cases
from .fit import arrays_of
from .parse import NO_HINT


@dataclasses.dataclass(frozen=True)
class Predict:
    """Predict the labels of the series of a file, and print them as CSV.

    Example: fractal predict runs/fit-recordings new.csv > labels.csv

    Args:
        model: folder that fractal fit has written, or its file model.safetensors.
        file: file or folder of the series, as for fractal fit; labels are not needed. The first
            column of a table without header is a label if the model was fitted to one sample less
            per case, or to the classes in it.
        target: column of the true label, if the file has one; the score is printed on stderr.
        id: column that identifies the case, in a table with one sample per row.
        time: column with the times of the samples.
        json: print one JSON object.
    """

    model: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    file: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    target: Annotated[str | None, NO_HINT] = None
    id: Annotated[str | None, NO_HINT] = None
    time: Annotated[str | None, NO_HINT] = None
    json: bool = False

    def run(self) -> int:
        path = self.model / WEIGHTS if self.model.is_dir() else self.model
        kind, trained = _estimator(path)
        cases = read_cases(
            self.file, target=self.target, identity=self.id, time=self.time, trained=trained
        )
        print(f"{self.file}: {cases.summary}", file=sys.stderr)
        estimator = _loaded(path, kind)
        if len(cases.channels) != estimator.n_channels_:
            raise UserError(
                f"{self.file} has {len(cases.channels)} channels, the model {estimator.n_channels_}"
            )
        X, times = arrays_of(cases)
        names = cases.ids or [str(number) for number in range(1, len(cases.series) + 1)]
        if kind == "FractalRegressor":
            rows = [
                {"case": name, "prediction": float(value)}
                for name, value in zip(names, estimator.predict(X, times=times), strict=True)
            ]
        else:
            shares = estimator.predict_proba(X, times=times)
            labels = [str(label) for label in estimator.classes_]
            rows = [
                {"case": name, "prediction": labels[int(np.argmax(share))]}
                | {
                    f"p({label})": round(float(p), 6)
                    for label, p in zip(labels, share, strict=True)
                }
                for name, share in zip(names, shares, strict=True)
            ]
        self._print(rows, _score(cases, rows, kind))
        return 0

    def _print(self, rows: list[dict[str, Any]], score: dict[str, float]) -> None:
        if self.json:
            print(json.dumps({"predictions": rows, **score}, ensure_ascii=False))
            return
        for name, value in score.items():
            print(f"{name}: {value:.4g}", file=sys.stderr)
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _estimator(path: pathlib.Path) -> tuple[str, TrainedOn]:
    """The class of the estimator in a file, and what it was fitted to."""
    if not path.is_file():
        raise UserError(f"MODEL: there is no file {path}")
    try:
        metadata = read_metadata(path)
        header = json.loads(metadata.get("estimator", "null"))
    except (ValueError, OSError, safetensors.SafetensorError):
        raise UserError(f"MODEL: {path} is not a file that fractal fit has written") from None
    if metadata.get("format") == "fractal.forecaster":
        raise UserError(f"MODEL: {path} is a forecaster, not a classifier or regressor")
    try:
        kind, fitted = header["class"], header["fitted"]
        classes = fitted["classes"]["values"] if kind == "FractalClassifier" else ()
        trained = TrainedOn(int(fitted["n_features_in"]), frozenset(map(str, classes)))
    except (KeyError, TypeError, ValueError):
        kind, trained = None, None
    if trained is None or kind not in ("FractalClassifier", "FractalRegressor"):
        raise UserError(f"MODEL: {path} is not a file that fractal fit has written")
    return kind, trained


def _loaded(path: pathlib.Path, kind: str) -> Any:
    from .. import estimators  # loads JAX

    try:
        return getattr(estimators, kind).load(path)
    except ValueError as error:
        raise UserError(f"MODEL: {error}") from None


def _score(cases: Cases, rows: list[dict[str, Any]], kind: str) -> dict[str, float]:
    """The score, where the file has labels; UserError where a regressor has no numbers."""
    if cases.labels is None:
        return {}
    found = [row["prediction"] for row in rows]
    if kind == "FractalClassifier":
        return {"accuracy": float(np.mean(np.array(found) == np.array(cases.labels)))}
    targets = cases.targets()
    if targets is None:
        raise UserError("names labels that are not numbers, but the model predicts numbers",
                        argument="target")  # fmt: skip
    return {"rmse": float(np.sqrt(np.mean((targets - found) ** 2)))}
