"""`fractal predict`: labels or numbers for the series of a file."""

import csv
import dataclasses
import json
import pathlib
import sys
from typing import Annotated, Any

import numpy as np
import tyro

from .._errors import UserError
from .._run_folder import WEIGHTS
from .._series.content import Cases
from .._series.read import read_cases
from .case_inputs import CLASSIFIERS, REGRESSORS, arrays_of, naming_file, read_trained
from .parse import NO_HINT


@dataclasses.dataclass(frozen=True)
class Predict:
    """Predict the labels of the series of a file, and print them as CSV.

    Example: fractal predict runs/fit-recordings new.csv > labels.csv

    Args:
        model: folder that fractal fit has written, or its file model.safetensors.
        file: file or folder of the series, as for fractal fit; labels are not needed. The first
            column of a table without header is a label if the model was fitted to one sample less
            per case, or to the classes in it. Channels are matched by name, and times are relative
            to those of the training set.
        target: column of the true label, if the file has one; by default the column of the training
            set. The score is printed on stderr.
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
        kind, trained = read_trained(path)
        cases = read_cases(
            self.file,
            target=self.target,
            identity=self.id,
            time=self.time,
            trained=trained,
            labeled=False,
        )
        print(f"{self.file}: {cases.summary}", file=sys.stderr)
        estimator = _loaded(path, kind)
        if len(cases.channels) != estimator.n_channels_:
            raise UserError(
                f"{self.file} has {len(cases.channels)} channels, the model {estimator.n_channels_}"
            )
        X, times = arrays_of(cases, trained, self.file)
        names = cases.ids or [str(number) for number in range(1, len(cases.series) + 1)]
        with naming_file(self.file):
            rows = _rows(estimator, kind, names, X, times)
        self._print(rows, self._score(cases, rows, kind))
        return 0

    def _score(self, cases: Cases, rows: list[dict[str, Any]], kind: str) -> dict[str, float]:
        """The score of the cases with labels.

        UserError where a regressor has no numbers in the column that the user has named.
        """
        labeled = [index for index, label in enumerate(cases.labels or ()) if label]
        if not labeled:
            return {}
        found = [rows[index]["prediction"] for index in labeled]
        labels = [(cases.labels or [])[index] for index in labeled]
        if kind in CLASSIFIERS.values():
            return {"accuracy": float(np.mean(np.array(found) == np.array(labels)))}
        targets = dataclasses.replace(cases, labels=labels).targets()
        if targets is not None:
            return {"rmse": float(np.sqrt(np.mean((targets - found) ** 2)))}
        if self.target is not None:
            raise UserError("names labels that are not numbers, but the model predicts numbers",
                            argument="target")  # fmt: skip
        print("no score: the labels are not numbers, but the model predicts numbers",
              file=sys.stderr)  # fmt: skip
        return {}

    def _print(self, rows: list[dict[str, Any]], score: dict[str, float]) -> None:
        if self.json:
            print(json.dumps({"predictions": rows, **score}, ensure_ascii=False))
            return
        for name, value in score.items():
            print(f"{name}: {value:.4g}", file=sys.stderr)
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _rows(
    estimator: Any,
    kind: str,
    names: list[str],
    X: list[np.ndarray],
    times: list[np.ndarray] | None,
) -> list[dict[str, Any]]:
    """The prediction for each case, and the probabilities of a classifier."""
    if kind in REGRESSORS.values():
        values = estimator.predict(X, times=times)
        if np.ndim(values) > 1:
            raise UserError(f"MODEL: predicts {values.shape[1]} numbers per case: use it in Python")
        return [
            {"case": name, "prediction": float(value)}
            for name, value in zip(names, values, strict=True)
        ]
    shares = estimator.predict_proba(X, times=times)
    labels = [str(label) for label in estimator.classes_]
    return [
        {"case": name, "prediction": labels[int(np.argmax(share))]}
        | {f"p({label})": round(float(p), 6) for label, p in zip(labels, share, strict=True)}
        for name, share in zip(names, shares, strict=True)
    ]


def _loaded(path: pathlib.Path, kind: str) -> Any:
    from .. import estimators  # loads JAX

    try:
        return getattr(estimators, kind).load(path)
    except ValueError as error:
        raise UserError(f"MODEL: {error}") from None
