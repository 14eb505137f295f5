"""Files of forecasters: safetensors, with settings as JSON in the header."""

import json
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._checks import check_count, check_path
from .._errors import UserError
from .._files import read_tensors, write_tensors
from ._forecast_data import CarriedState
from ._forecast_network import initial_states
from ._histories import Layout
from ._lag_regression import LagRegression

_FORMAT, _VERSION = "fractal.forecaster", 1
_LINEAR = ("weights", "effects")
_STREAM = ("recent", "features", "covariates")
_ARRAYS = ("covariate_mean_", "covariate_scale_", "error_quantiles_")


def save_forecaster(path: str | os.PathLike, forecaster: Any) -> None:
    """Write a fitted forecaster."""
    path, linear, state = check_path("path", path), forecaster.linear_, forecaster.state_
    leaves = jax.tree.leaves((forecaster.network_, state.states))
    tensors = {f"leaf.{index}": np.asarray(leaf) for index, leaf in enumerate(leaves)}
    tensors |= {name: getattr(linear, name) for name in _LINEAR}
    tensors |= {name: getattr(state, name) for name in _STREAM}
    tensors |= {name: getattr(forecaster, name) for name in _ARRAYS}
    settings = {
        "parameters": {name: _plain(value) for name, value in forecaster.get_params().items()},
        "context": forecaster.context_,
        "covariates": forecaster.n_covariates_,
        "base": linear.base,
        "period": linear.period,
        "penalty": str(linear.penalty),
        "layout": list(forecaster.layout_),
        "steps": forecaster.n_steps_,
        "share": forecaster.correction_,
        "history": forecaster.history_,
    }
    metadata = {"format": _FORMAT, "version": str(_VERSION)}
    metadata["settings"] = json.dumps(settings)
    write_tensors(path, {n: np.ascontiguousarray(x) for n, x in tensors.items()}, metadata)


def load_forecaster(path: str | os.PathLike, cls: Any) -> Any:
    """Read a forecaster of the class `cls`; UserError for any other file."""
    path = check_path("path", path)
    try:
        tensors, metadata = read_tensors(path, _FORMAT, _VERSION)
        settings = json.loads(metadata["settings"])
        made = cls(**settings["parameters"])
        made._check()
        _restore(made, tensors, settings)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        why = " ".join(str(error).split())
        raise UserError(f"{path} is not a forecaster that save wrote: {why}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return made


def _restore(made: Any, tensors: dict[str, np.ndarray], settings: dict[str, Any]) -> None:
    made.context_ = check_count("context", settings["context"], smallest=1)
    made.n_covariates_ = check_count("covariates", settings["covariates"], smallest=0)
    period = check_count("period", settings["period"], smallest=1)
    made.linear_ = LagRegression(
        tensors["weights"],
        tensors["effects"],
        str(settings["base"]),
        period,
        float(settings["penalty"]),
    )
    made.layout_ = Layout(*(check_count("layout", one, 0) for one in settings["layout"]))
    made.n_steps_, made.correction_ = int(settings["steps"]), float(settings["share"])
    made.history_ = list(settings["history"])
    for name in _ARRAYS:
        setattr(made, name, tensors[name])
    rows = made.layout_.series * made.layout_.channels
    levels, covariates = len(made.quantiles), made.n_covariates_
    expected = {
        "weights": (made.context_, made.horizon),
        "effects": (made.horizon, covariates),
        "recent": (rows, made.context_),
        "features": (rows, made.width),
        "covariates": (rows, covariates),
        "covariate_mean_": (covariates,),
        "covariate_scale_": (covariates,),
        "error_quantiles_": (made.horizon, levels),
    }
    for name, shape in expected.items():
        if tensors[name].shape != shape or not np.isfinite(tensors[name]).all():
            raise ValueError(f"its tensor {name} must be finite, of shape {shape}")
    empty = made._network(made.context_, jax.random.key(0))
    leaves, structure = jax.tree.flatten((empty, initial_states(empty, rows)))
    found = [jnp.asarray(tensors[f"leaf.{index}"]) for index in range(len(leaves))]
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(found, leaves, strict=True)):
        raise ValueError("its tensors do not have the shapes of its settings")
    made.network_, states = jax.tree.unflatten(structure, found)
    made.state_ = CarriedState(states=states, **{name: tensors[name] for name in _STREAM})


def _plain(value: Any) -> Any:
    """A setting as JSON has it; a generator of random numbers has no meaning after the fit."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | tuple | list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else None
