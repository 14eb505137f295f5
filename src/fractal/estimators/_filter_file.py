"""Files of estimators on filter features: safetensors, with settings as JSON in the header."""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_path
from .._errors import UserError
from .._files import read_tensors, write_tensors
from ._filter_features import FilterBankFeatures
from ._filters import Filters
from ._saved import ESTIMATOR, estimator_header, read_header, read_preparation
from ._saved_settings import decode_settings

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
    fitted = {"n_features_in": estimator.n_features_in_, "penalty": estimator.penalty_}
    text = estimator_header(estimator, features._preparation, fitted | estimator._fitted())
    metadata = {"format": _FORMAT, "version": str(_VERSION), ESTIMATOR: text}
    write_tensors(
        check_path("path", path), {n: np.ascontiguousarray(x) for n, x in tensors.items()}, metadata
    )


def load_filters(path: str | os.PathLike, cls: Any) -> Any:
    """Read an estimator of the class `cls`; UserError for any other file."""
    path = check_path("path", path)
    try:
        tensors, metadata = read_tensors(path, _FORMAT, _VERSION)
        header = read_header(metadata, cls)
        made = cls(**decode_settings(header["settings"]))
        _restore(made, tensors, header)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise UserError(f"{path} is not a file of {cls.__name__}.save: {why}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return made


def _restore(made: Any, tensors: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Set the fitted attributes of an estimator."""
    fitted, preparation = header["fitted"], read_preparation(header["preparation"])
    channels, (filters, thresholds) = len(preparation.mean), tensors["thresholds"].shape
    slopes = (channels,) if made.differences else (0,)
    outputs = len(tensors["intercept"])
    expected = {
        "decay": (filters,),
        "rotation": (filters,),
        "weights": (preparation.inputs + slopes[0], filters),
        "thresholds": (made.n_filters, made.n_thresholds),
        "coefficients": (filters * thresholds, outputs),
        "intercept": (outputs,),
    } | ({"slope_scale": slopes} if made.differences else {})
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise ValueError(f"its tensor {name} must have the shape {shape}")
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"its tensor {name} is not finite")
    features = FilterBankFeatures(**made.get_params(deep=False))
    features._preparation, features._clock = preparation, made.clock
    features._filters = Filters(*(tensors[name] for name in Filters._fields))
    features._thresholds, features._slope_scale = tensors["thresholds"], tensors.get("slope_scale")
    features.n_channels_ = made.n_channels_ = channels
    features.n_features_in_ = made.n_features_in_ = check_count(
        "n_features_in", fitted["n_features_in"], 1
    )
    made.features_, made.penalty_ = features, float(fitted["penalty"])
    made.weights_, made.intercept_ = tensors["coefficients"], tensors["intercept"]
    made._restore(fitted)
