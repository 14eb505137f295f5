"""Files of estimators on filter features: safetensors, with settings as JSON in the header."""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_path, check_positive
from .._files import read_tensors, write_tensors
from ._filter_features import FilterBankFeatures
from ._filters import Filters
from ._saved import ESTIMATOR, estimator_header, file_of, read_header, read_preparation
from ._saved_settings import decode_settings, encode_settings

_FORMAT, _VERSION = "fractal.filters", 1


def save_filters(path: str | os.PathLike, estimator: Any) -> None:
    """Write a fitted estimator on filter features."""
    check_is_fitted(estimator)
    features = estimator.features_
    tensors = features._filters._asdict() | {
        "thresholds": features._thresholds,
        "coefficients": estimator.weights_,
        "intercept": estimator.intercept_,
    }
    if features._slope_scale is not None:
        tensors["slope_scale"] = features._slope_scale
    fitted = {
        "features": encode_settings(features),  # those of the fit: settings may have changed since
        "n_features_in": estimator.n_features_in_,
        "penalty": estimator.penalty_,
    }
    text = estimator_header(estimator, features._preparation, fitted | estimator._fitted())
    metadata = {"format": _FORMAT, "version": str(_VERSION), ESTIMATOR: text}
    write_tensors(
        check_path("path", path), {n: np.ascontiguousarray(x) for n, x in tensors.items()}, metadata
    )


def load_filters(path: str | os.PathLike, cls: Any) -> Any:
    """Read an estimator of the class `cls`; `UserError` for any other file."""
    path = check_path("path", path)
    with file_of(path, cls):
        tensors, metadata = read_tensors(path, _FORMAT, _VERSION)
        header = read_header(metadata, cls)
        made = cls(**decode_settings(header["settings"]))
        _restore(made, tensors, header)
    return made


def _restore(made: Any, tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Set the fitted attributes of an estimator."""
    fitted, preparation = header["fitted"], read_preparation(header["preparation"])
    features = FilterBankFeatures(**decode_settings(fitted["features"]))
    features._check_settings()
    channels, (filters, thresholds) = len(preparation.mean), tensors["thresholds"].shape
    slopes = (channels,) if features.differences else (0,)
    outputs = len(tensors["intercept"])
    expected = {
        "decay": (filters,),
        "rotation": (filters,),
        "weights": (preparation.inputs + slopes[0], filters),
        "thresholds": (features.n_filters, features.n_thresholds),
        "coefficients": (filters * thresholds, outputs),
        "intercept": (outputs,),
    } | ({"slope_scale": slopes} if features.differences else {})
    for name, shape in expected.items():
        tensor = tensors[name]
        if tensor.shape != shape or not tensor.size:
            raise ValueError(f"its tensor {name} must have the shape {shape}")
        if tensor.dtype.kind != "f" or not np.isfinite(tensor).all():
            raise ValueError(f"its tensor {name} is not finite")
        if name in ("decay", "slope_scale") and not (tensor > 0).all():
            raise ValueError(f"its tensor {name} is not positive")
    features._preparation, features._clock = preparation, features.clock
    features._filters = Filters(*(tensors[name] for name in Filters._fields))
    features._thresholds, features._slope_scale = tensors["thresholds"], tensors.get("slope_scale")
    features.n_channels_ = made.n_channels_ = channels
    features.n_features_in_ = made.n_features_in_ = check_count(
        "n_features_in", fitted["n_features_in"], 1
    )
    made.features_, made.penalty_ = features, check_positive("penalty", fitted["penalty"])
    made.weights_, made.intercept_ = tensors["coefficients"], tensors["intercept"]
    made._restore(fitted)
