"""Files of forecasters: safetensors, with settings as JSON in the header."""

import json
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import check_count, check_path
from .._errors import UserError
from .._files import MALFORMED, read_tensors, write_tensors
from ._covariates import CovariateScale
from ._forecast_fit import new_network
from ._forecast_model import CarriedState, ForecastModel
from ._forecast_network import initial_states
from ._forecast_settings import forecast_settings
from ._histories import Layout
from ._lag_regression import LagRegression
from ._saved_settings import decode_settings, encode_settings, plain

_FORMAT, _VERSION = "fractal.forecaster", 1
_STREAM = ("recent", "features", "covariates")


def save_forecaster(path: str | os.PathLike, forecaster: Any) -> None:
    """Write a fitted forecaster."""
    path, model, state = check_path("path", path), forecaster.model_, forecaster.state_
    leaves = jax.tree.leaves((model.network, state.states))
    tensors = {f"leaf.{index}": np.asarray(leaf) for index, leaf in enumerate(leaves)}
    tensors |= {name: getattr(state, name) for name in _STREAM}
    tensors |= {
        "weights": model.linear.weights,
        "effects": model.linear.effects,
        "covariate_mean": model.covariates.mean,
        "covariate_deviation": model.covariates.deviation,
        "error_quantiles": model.error_quantiles,
    }
    settings = {
        "parameters": encode_settings(forecaster),
        "base": model.linear.base,
        "period": model.linear.period,
        "penalty": str(model.linear.penalty),
        "layout": list(forecaster.layout_),
        "ids": _plain_ids(forecaster.ids_),
        "steps": forecaster.n_steps_,
        "share": model.share,
        "history": forecaster.history_,
    }
    metadata = {"format": _FORMAT, "version": str(_VERSION)}
    metadata["settings"] = json.dumps(settings)
    write_tensors(path, {n: np.ascontiguousarray(x) for n, x in tensors.items()}, metadata)


def _plain_ids(ids: list[Any] | None) -> list[Any] | None:
    try:
        return plain(ids)
    except TypeError as error:
        raise UserError(f"an id {error}: it cannot be saved") from None


def load_forecaster(path: str | os.PathLike, cls: Any) -> Any:
    """Read a forecaster of the class `cls`; UserError for any other file."""
    path = check_path("path", path)
    try:
        tensors, metadata = read_tensors(path, _FORMAT, _VERSION)
        settings = json.loads(metadata["settings"])
        made = cls(**decode_settings(settings["parameters"]))
        _restore(made, tensors, settings)
    except MALFORMED as error:
        why = " ".join(str(error).split())
        raise UserError(f"{path} is not a forecaster that save wrote: {why}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return made


def _restore(made: Any, tensors: dict[str, np.ndarray], found: dict[str, Any]) -> None:
    """Set the fitted attributes of a forecaster."""
    settings = forecast_settings(made)
    made.layout_ = Layout(*(check_count("layout", one, 0) for one in found["layout"]))
    made.ids_ = found.get("ids")  # not in files of earlier versions
    made.n_steps_, made.history_ = int(found["steps"]), list(found["history"])
    rows = made.layout_.series * made.layout_.channels
    lags, covariates = len(tensors["weights"]), len(tensors["covariate_mean"])
    expected = {
        "weights": (lags, settings.horizon),
        "effects": (settings.horizon, covariates),
        "recent": (rows, lags),
        "features": (rows, settings.width),
        "covariates": (rows, covariates),
        "covariate_mean": (covariates,),
        "covariate_deviation": (covariates,),
        "error_quantiles": (settings.horizon, len(settings.levels)),
    }
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise ValueError(f"its tensor {name} must have the shape {shape}")
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"its tensor {name} is not finite")
    empty = new_network(settings, lags, covariates, jax.random.key(0))
    leaves, structure = jax.tree.flatten((empty, initial_states(empty, rows)))
    arrays = [jnp.asarray(tensors[f"leaf.{index}"]) for index in range(len(leaves))]
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(arrays, leaves, strict=True)):
        raise ValueError("its tensors do not have the shapes of its settings")
    network, states = jax.tree.unflatten(structure, arrays)
    made.model_ = ForecastModel(
        LagRegression(
            tensors["weights"],
            tensors["effects"],
            str(found["base"]),
            check_count("period", found["period"], smallest=1),
            float(found["penalty"]),
        ),
        tensors["error_quantiles"],
        settings.levels,
        CovariateScale(tensors["covariate_mean"], tensors["covariate_deviation"]),
        network,
        float(found["share"]),
    )
    made.context_ = lags
    made.state_ = CarriedState(states=states, **{name: tensors[name] for name in _STREAM})
