"""Files of estimators: the file of the model, with settings and scales as JSON in its header.

`fractal.load` reads the model from the same file. The JSON contains numbers, strings and lists
only; loading sets attributes of the class that reads it, by its methods `_fitted` and `_restore`.
"""

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_path
from .._errors import UserError
from .._files import MALFORMED, read_metadata
from .._weights import load, save_with
from ..nn import SequenceModel
from ._preparation import Preparation
from ._saved_settings import decode_settings, encode_settings, plain

ESTIMATOR, _VERSION = "estimator", 1  # key of the header, and version of its layout


@contextlib.contextmanager
def file_of(path: Any, cls: type) -> Iterator[None]:
    """Errors of reading a file become one line: it is not a file of this class."""
    try:
        yield
    except MALFORMED as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise UserError(f"{path} is not a file of {cls.__name__}.save: {why}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None


def save_estimator(path: str | os.PathLike, estimator: Any) -> None:
    """Write a fitted estimator with a `SequenceModel` to one safetensors file."""
    check_is_fitted(estimator)
    text = estimator_header(estimator, estimator._preparation, estimator._fitted())
    save_with(path, estimator.model_, {ESTIMATOR: text})


def load_estimator(path: str | os.PathLike, cls: type) -> Any:
    """Read an estimator of class `cls` with a `SequenceModel`."""
    path = check_path("path", path)
    model = load(path)
    with file_of(path, cls):
        if not isinstance(model, SequenceModel):
            raise ValueError("it contains a model only")
        header = read_header(read_metadata(path), cls)
        estimator = cls(**decode_settings(header["settings"]))
        estimator._preparation = read_preparation(header["preparation"])
        if model.encoder.weight.shape[1] != estimator._preparation.inputs:
            raise ValueError("its channels do not fit the model")
        head: Any = model.head
        estimator._restore(header["fitted"], head.weight.shape[0])
        estimator.model_ = model
    return estimator


def estimator_header(estimator: Any, preparation: Preparation, fitted: dict[str, Any]) -> str:
    """Class, settings, scales and fitted values of an estimator as JSON."""
    header = {
        "class": type(estimator).__name__,
        "version": _VERSION,
        "settings": encode_settings(estimator),
        "preparation": {
            "mean": preparation.mean.tolist(),
            "scale": preparation.scale.tolist(),
            "indicators": preparation.indicators.tolist(),
            "unit": preparation.unit,
            "center": preparation.center.tolist(),
            "knee": preparation.knee.tolist(),
            "timed": preparation.timed,
        },
        "fitted": fitted,
    }
    try:
        return json.dumps(header, sort_keys=True, allow_nan=False)
    except ValueError as error:
        raise UserError(f"{type(estimator).__name__} cannot be saved: {error}") from None


def read_header(metadata: Mapping[str, str], cls: type) -> dict[str, Any]:
    """The header of a file of the class `cls`; ValueError for one of another class."""
    header = json.loads(metadata.get(ESTIMATOR, "null"))
    if not isinstance(header, dict):
        raise ValueError("it contains a model only")
    if header.get("class") != cls.__name__:
        raise ValueError(f"it contains a {header.get('class')!r:.40}")
    if header.get("version") != _VERSION:
        raise ValueError(f"its version is {header.get('version')!r:.40}")
    return header


def read_preparation(found: dict[str, Any]) -> Preparation:
    """The scales in a header; ValueError if they are inconsistent."""
    mean, scale = (np.array(found[name], np.float64) for name in ("mean", "scale"))
    center, knee = (np.array(found[name], np.float64) for name in ("center", "knee"))
    indicators, unit = np.array(found["indicators"], bool), float(found["unit"])
    scales = np.stack([mean, scale, center, knee])  # raises if the shapes differ
    if not scales.shape[1:] == indicators.shape == (len(mean),):
        raise ValueError("its scales have inconsistent shapes")
    if not (
        np.isfinite(scales).all()
        and (scale > 0).all()
        and (knee >= 0).all()
        and 0 < unit < math.inf
    ):
        raise ValueError("its scales are not positive and finite")
    return Preparation(mean, scale, indicators, unit, center, knee, bool(found.get("timed")))


def encode_labels(classes: np.ndarray) -> dict[str, Any]:
    """Labels as JSON, with their dtype."""
    if classes.dtype.kind not in "biufUO":
        raise UserError(f"labels of type {classes.dtype} cannot be saved")
    try:
        return {"dtype": classes.dtype.str, "values": plain(classes)}
    except TypeError as error:
        raise UserError(f"a label {error}: it cannot be saved") from None


def decode_labels(found: dict[str, Any]) -> np.ndarray:
    """Inverse of `encode_labels`. Text is as long as its values, not as the file says."""
    dtype, values = np.dtype(found["dtype"]), found["values"]
    known = str if dtype.kind == "U" else (str, bool, int, float)
    if dtype.kind not in "biufUO" or not all(isinstance(one, known) for one in values):
        raise ValueError("its labels are of an unknown type")
    return np.array(values, str if dtype.kind == "U" else dtype)
