"""Models in one safetensors file: parameters as tensors, structure as JSON in its header.

The JSON names classes of `fractal` and `equinox.nn` and the values of their fields, nothing else:
loading a file sets fields and runs no code of it.
"""

import dataclasses
import importlib
import json
import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._errors import UserError
from ._files import read_tensors, write_tensors

_FORMAT = "fractal.model 1"
_MODULES = ("fractal.nn", "equinox.nn", "fractal.baselines")  # whose public classes a file may hold


_REGISTERED: dict[str, type] = {}


def register_classes(prefix: str, classes: Sequence[type]) -> None:
    """Let files hold these classes, named "prefix.ClassName"."""
    _REGISTERED.update({f"{prefix}.{cls.__name__}": cls for cls in classes})


def check_savable(model: Any) -> None:
    """Raise UserError if `save` would refuse the model."""
    try:
        _encoded(model, "", {})
    except ValueError as error:
        message = f"{error}: register it with classes= of fractal.train.register_model"
        raise UserError(message) from None


def save(path: str | os.PathLike, model: Any) -> None:
    """Write a model, with all that is needed to build it again.

    **Arguments:**

    - `path`: of the file; by convention it ends in `.safetensors`.
    - `model`: a `SequenceModel`, a `FractalSSM`, any module made of such, or a state of one.
    """
    tensors: dict[str, np.ndarray] = {}
    structure = json.dumps(_encoded(model, "", tensors))
    write_tensors(path, tensors, {"format": _FORMAT, "structure": structure})


def load(path: str | os.PathLike) -> Any:
    """The model that `save` wrote. A file from a stranger cannot execute code."""
    try:
        tensors, metadata = read_tensors(path, _FORMAT)
        structure = json.loads(metadata["structure"])
        if not (isinstance(structure, dict) and "class" in structure):
            raise ValueError("it holds no module")
        return _decoded(structure, tensors)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        message = f"{os.fspath(path)} is not a model that fractal.save wrote: {error}"
        raise ValueError(message.replace("\n", " ")) from None


def _encoded(value: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """JSON for a value; arrays go to `tensors` under their path in the model."""

    def within(items):
        return {
            str(key): _encoded(item, f"{name}.{key}" if name else str(key), tensors)
            for key, item in items
        }

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, jax.Array | np.ndarray):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            raise ValueError(f"{name} cannot be saved: it is a random key")
        tensors[name] = np.asarray(value, order="C")
        return {"tensor": name}
    if isinstance(value, eqx.Module):
        fields = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
        return {"class": _public_name(type(value), name), "fields": within(fields)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        record: Any = value
        fields = record._asdict().items()
        return {"class": _public_name(type(value), name), "fields": within(fields)}
    if isinstance(value, tuple | list):
        return {type(value).__name__: list(within(enumerate(value)).values())}
    raise ValueError(f"{name or 'the model'} cannot be saved: it is a {type(value).__name__}")


def _decoded(value: Any, tensors: dict[str, np.ndarray]) -> Any:
    """Undo `_encoded`."""
    if not isinstance(value, dict):
        return value
    match value:
        case {"tensor": name}:
            array = jnp.asarray(tensors[name])
            if array.dtype != tensors[name].dtype:
                raise ValueError(
                    f"it holds {tensors[name].dtype} numbers: call "
                    "jax.config.update('jax_enable_x64', True) first"
                )
            return array
        case {"tuple": items}:
            return tuple(_decoded(item, tensors) for item in items)
        case {"list": items}:
            return [_decoded(item, tensors) for item in items]
        case {"class": name, "fields": fields}:
            cls = _public_class(name)
            values = {field: _decoded(item, tensors) for field, item in fields.items()}
            if issubclass(cls, tuple):
                return cls(**values)
            expected = {field.name for field in dataclasses.fields(cls)}
            if set(values) != expected:
                raise ValueError(f"{name} has the fields {sorted(expected)}, not {sorted(values)}")
            module = object.__new__(cls)
            for field, item in values.items():
                object.__setattr__(module, field, item)
            return module
    raise ValueError(f"{str(value)[:60]!r} is not understood")


def _public_name(cls: type, name: str) -> str:
    for registered, known in _REGISTERED.items():
        if known is cls:
            return registered
    for module in _MODULES:
        if getattr(importlib.import_module(module), cls.__name__, None) is cls:
            return f"{module}.{cls.__name__}"
    raise ValueError(f"{name or 'the model'} cannot be saved: {cls.__name__} is not of fractal")


def _public_class(name: str) -> type:
    if str(name) in _REGISTERED:
        return _REGISTERED[str(name)]
    module, _, attribute = str(name).rpartition(".")
    cls = getattr(importlib.import_module(module), attribute, None) if module in _MODULES else None
    if isinstance(cls, type) and (issubclass(cls, eqx.Module) or hasattr(cls, "_fields")):
        return cls
    raise ValueError(f"{name!r} is not a class of {' or '.join(_MODULES)}")
