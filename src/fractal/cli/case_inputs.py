"""Cases of a file as estimators take them, and what a model was fitted to, kept in its file."""

import contextlib
import json
import math
import pathlib
from collections.abc import Iterator

import numpy as np
import safetensors

from .._errors import UserError
from .._files import MALFORMED, add_metadata, read_metadata
from .._series.content import Cases, TrainedOn

CLASSIFIERS = {"network": "FractalClassifier", "filters": "FilterBankClassifier"}  # by method
REGRESSORS = {"network": "FractalRegressor", "filters": "FilterBankRegressor"}
_HEADER = "series"
_IN_ESTIMATOR = ("steps", "classes")


def trained_on(cases: Cases) -> TrainedOn:
    """What a model is fitted to."""
    return TrainedOn(
        max(one.shape[1] for one in cases.series),
        frozenset(cases.labels or ()),
        cases.target,
        tuple(cases.channels),
        cases.unit(),
        cases.dated,
        cases.identity,
        cases.time,
        cases.times is not None,
    )


def write_trained(path: pathlib.Path, trained: TrainedOn) -> None:
    """Add what the file of an estimator does not contain."""
    values = trained._asdict()
    text = json.dumps({name: values[name] for name in values if name not in _IN_ESTIMATOR})
    add_metadata(path, {_HEADER: text})


def read_trained(path: pathlib.Path) -> tuple[str, TrainedOn]:
    """The class of the estimator in a file, and what it was fitted to."""
    if not path.is_file():
        raise UserError(f"MODEL: there is no file {path}")
    try:
        metadata = read_metadata(path)
        header = json.loads(metadata.get("estimator", "null"))
        if metadata.get("format") == "fractal.forecaster":
            raise UserError(f"MODEL: {path} is a forecaster, not a classifier or regressor")
        kind, fitted = header["class"], header["fitted"]
        if kind not in (*CLASSIFIERS.values(), *REGRESSORS.values()):
            raise ValueError(kind)
        classes = fitted["classes"]["values"] if kind in CLASSIFIERS.values() else ()
        steps, names = int(fitted["n_features_in"]), frozenset(map(str, classes))
        return kind, _with_series(TrainedOn(steps, names), metadata.get(_HEADER, "{}"))
    except UserError:
        raise
    except (*MALFORMED, OSError, safetensors.SafetensorError):
        raise UserError(f"MODEL: {path} is not a file that fractal fit has written") from None


def _with_series(trained: TrainedOn, text: str) -> TrainedOn:
    found = json.loads(text)
    names = {
        name: None if found.get(name) is None else str(found[name])
        for name in ("target", "identity", "time")
    }
    unit = found.get("unit")
    if unit is not None and not (math.isfinite(unit) and unit > 0):
        raise ValueError(unit)
    return trained._replace(
        **names,
        channels=tuple(map(str, found.get("channels", ()))),
        unit=unit,
        dated=bool(found.get("dated", False)),
        irregular=bool(found.get("irregular", False)),
    )


def arrays_of(
    cases: Cases, trained: TrainedOn, path: pathlib.Path
) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
    """Series and times as estimators take them.

    Times start at 0 and are in units of the interval of the training set. Regular samples with
    this interval need none, unless those of the training set were irregular. A model without times
    takes intervals relative to those of the file.
    """
    if trained.unit is None and cases.times is None:
        return cases.series, None
    if trained.unit is not None and cases.unit() is not None and cases.dated != trained.dated:
        kinds = ("dates", "numbers") if cases.dated else ("numbers", "dates")
        raise UserError(f"{path}: its times are {kinds[0]}, but the model was fitted to {kinds[1]}")
    unit = trained.unit or cases.unit() or 1.0
    if cases.times is not None:
        return cases.series, [(one - one[0]) / unit for one in cases.times]
    step = unit if cases.interval is None else cases.interval
    if not trained.irregular and math.isclose(step, unit, rel_tol=1e-6):
        return cases.series, None
    return cases.series, [np.arange(one.shape[1]) * (step / unit) for one in cases.series]


def targets_of(cases: Cases, numbers: bool, path: pathlib.Path) -> np.ndarray:
    if not numbers:
        return np.array(cases.labels)
    targets = cases.targets()
    if targets is None:
        raise UserError(f"{path}: its labels are not numbers")
    return targets


@contextlib.contextmanager
def naming_file(path: pathlib.Path) -> Iterator[None]:
    """Errors of an estimator about its arrays become errors about a file."""
    try:
        yield
    except UserError as error:
        argument, _, index = (error.argument or "").partition("[")
        what = {"X": "the series", "y": "the labels", "times": "the times"}.get(argument)
        if what is None:
            raise
        where = f"{path}, case {int(index[:-1]) + 1}" if index[:-1].isdecimal() else f"{path}"
        raise UserError(f"{where}: {what} {error.message}") from None
