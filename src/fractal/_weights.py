"""Serialization of models: one safetensors file, with the structure as JSON in its header.

The JSON contains class names and field values only. Allowed classes are those of `fractal.nn`,
`fractal.baselines` and `equinox.nn`, and those registered with `register_classes`. Loading sets
fields of these classes; it neither imports nor calls anything that the file names.

A loaded object is validated against the annotations and invariants of its classes, and a
`SequenceModel` by tracing a call, so that corrupted and tampered files are rejected.
"""

import dataclasses
import functools
import inspect
import json
import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from . import baselines, nn
from ._annotations import check_annotations
from ._checks import check_path
from ._errors import UserError
from ._files import read_model, write_model

_PUBLIC = {"fractal.nn": nn, "fractal.baselines": baselines, "equinox.nn": eqx.nn}
_registered: dict[str, type] = {}


def save(path: str | os.PathLike, model: Any) -> None:
    """Write a model, its parameters and its structure, to one file.

    **Arguments:**

    - `path`: path of the file; by convention it ends in `.safetensors`.
    - `model`: a `SequenceModel`, a `FractalSSM`, any module composed of these, or their states.
      Modules of other packages must be registered first (`register_classes`).
    """
    save_with(path, model, {})


def save_with(path: str | os.PathLike, model: Any, extra: dict[str, str]) -> None:
    """Write a model as `save` does, with further entries in the metadata of the header."""
    path = check_path("path", path)
    if not _is_record(type(model)):
        kind = type(model).__name__
        raise UserError(f"must be an Equinox module or a state, got a {kind}", argument="model")
    tensors: dict[str, np.ndarray] = {}
    structure = _encode(model, "", tensors)
    write_model(path, {name: np.asarray(x) for name, x in tensors.items()}, structure, extra)


def load(path: str | os.PathLike) -> Any:
    """Read a model written by `save`. Loading does not execute code from the file.

    **Raises:** `ValueError` if the file is corrupted, or names a class that is not registered.
    """
    path = check_path("path", path)
    try:
        tensors, structure = read_model(path)
        unused = set(tensors)
        arrays = {name: _array(tensor) for name, tensor in tensors.items()}
        model = _decode(structure, "", arrays, unused)
        if unused:
            raise ValueError(f"its tensor {min(unused)} belongs to no field")
        _check_runs(model)
    except (ValueError, RecursionError) as error:
        message = f"{os.fspath(path)} is not a model that fractal.save wrote: {error}"
        raise ValueError(" ".join(message.split())) from None
    return model


def register_classes(prefix: str, classes: Sequence[type]) -> None:
    """Register classes of other packages for `save` and `load`.

    **Arguments:**

    - `prefix`: classes are stored as `prefix.ClassName`. A file can be loaded wherever the
      same prefix and class names are registered.
    - `classes`: Equinox modules or named tuples.
    """
    if not isinstance(prefix, str) or not prefix.isidentifier():
        raise UserError(f"must be a name such as 'mine', got {prefix!r}", argument="prefix")
    if not isinstance(classes, Sequence):
        raise UserError(f"must be a sequence of classes, got {classes!r}", argument="classes")
    for cls in classes:
        if not _is_record(cls):
            raise UserError(
                f"must be Equinox modules or named tuples, got {cls!r}", argument="classes"
            )
        name = f"{prefix}.{cls.__name__}"
        known = _registered.get(name, cls)
        # The same class again, such as from a notebook cell that is run twice, replaces the old.
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise UserError(
                f"{name} is registered already for a different class", argument="classes"
            )
        _registered[name] = cls


def check_savable(model: Any) -> None:
    """Raise `UserError` if the model cannot be saved and loaded. Arrays may be abstract."""
    tensors: dict[str, Any] = {}
    structure = json.loads(json.dumps(_encode(model, "", tensors)))
    try:
        jax.eval_shape(lambda arrays: _decode(structure, "", arrays, set()) and 0, tensors)
    except ValueError as error:
        raise UserError(f"the model could not be loaded after it is saved: {error}") from None


def _is_record(cls: Any) -> bool:
    if not isinstance(cls, type):
        return False
    return issubclass(cls, eqx.Module) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def _encode(value: Any, name: str, tensors: dict[str, Any]) -> Any:
    """Encode a value as JSON; arrays are added to `tensors` under their path in the model."""

    def within(items):
        return {
            str(key): _encode(item, f"{name}.{key}" if name else str(key), tensors)
            for key, item in items
        }

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, jax.Array | np.ndarray | jax.ShapeDtypeStruct):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            raise UserError(f"{name} cannot be saved: it is a random key")
        tensors[name] = value
        return {"tensor": name}
    if _is_record(type(value)):
        return {"class": _name_of(type(value), name), "fields": within(_fields(value).items())}
    if isinstance(value, tuple | list):
        return {type(value).__name__: list(within(enumerate(value)).values())}
    for function, known in _activations().items():
        if value is known:
            return {"function": function}
    raise UserError(f"{name or 'the model'} cannot be saved: it is a {type(value).__name__}")


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, eqx.Module):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return value._asdict()


def _decode(value: Any, name: str, tensors: dict[str, jax.Array], unused: set[str]) -> Any:
    """Inverse of `_encode`; removes the tensors that it reads from `unused`."""
    if not isinstance(value, dict):
        return value

    def within(items):
        return {
            key: _decode(item, f"{name}.{key}" if name else str(key), tensors, unused)
            for key, item in items
        }

    match value:
        case {"tensor": str(tensor), **rest} if not rest:
            if tensor not in tensors:
                raise ValueError(f"it contains no tensor {tensor!r}")
            unused.discard(tensor)
            return tensors[tensor]
        case {"function": str(function), **rest} if not rest:
            if function not in _activations():
                raise ValueError(f"{function!r} is not a function of jax.nn")
            return _activations()[function]
        case {"tuple": list(items), **rest} if not rest:
            return tuple(within(enumerate(items)).values())
        case {"list": list(items), **rest} if not rest:
            return list(within(enumerate(items)).values())
        case {"class": str(cls), "fields": dict(fields), **rest} if not rest:
            return _build(cls, name, within(fields.items()))
    raise ValueError(f"{json.dumps(value)[:60]} is not a valid value")


def _array(tensor: np.ndarray) -> jax.Array:
    array = jnp.asarray(tensor)
    if array.dtype != tensor.dtype:
        raise ValueError(
            f"it contains {tensor.dtype} tensors: call jax.config.update('jax_enable_x64', True)"
        )
    return array


def _build(class_name: str, name: str, values: dict[str, Any]) -> Any:
    """Instantiate an allowed class from field values; missing fields take their defaults."""
    cls = _class_of(class_name)
    defaults = _defaults(cls)
    missing = [field for field in defaults if field not in values]
    unknown = [field for field in values if field not in defaults]
    if unknown or any(defaults[field] is dataclasses.MISSING for field in missing):
        raise ValueError(f"{class_name} has the fields {sorted(defaults)}, not {sorted(values)}")
    values |= {field: defaults[field] for field in missing}
    check_annotations(cls, name, values)
    if issubclass(cls, tuple):
        return cls(**values)
    module = object.__new__(cls)
    for field, item in values.items():
        object.__setattr__(module, field, item)
    for base in cls.__mro__:
        if "__check_init__" in vars(base):
            vars(base)["__check_init__"](module)
    return module


def _defaults(cls: Any) -> dict[str, Any]:
    """Default values by field name; `MISSING` for fields without a default."""
    if dataclasses.is_dataclass(cls):
        return {
            field.name: field.default
            if field.default_factory is dataclasses.MISSING
            else field.default_factory()
            for field in dataclasses.fields(cls)
        }
    return {field: cls._field_defaults.get(field, dataclasses.MISSING) for field in cls._fields}


def _check_runs(model: Any) -> None:
    """Trace a call of a `SequenceModel`, which fails if shapes of its parts are inconsistent.

    Registered classes may require other lengths and dtypes, so models with such are not traced.
    """
    modules = jax.tree.leaves(model, is_leaf=lambda node: type(node) in _registered.values())
    if not isinstance(model, nn.SequenceModel) or any(isinstance(x, eqx.Module) for x in modules):
        return
    dtypes = {x.dtype for x in jax.tree.leaves(model)}
    if dtypes not in ({jnp.dtype("float32")}, {jnp.dtype("float64")}):
        raise ValueError(f"its tensors have dtypes {', '.join(sorted(map(str, dtypes)))}")
    shape: tuple[int, ...] = (3,)
    if isinstance(model.encoder, eqx.nn.Linear):
        shape = (3, model.encoder.weight.shape[1])
    if model.task == "retrieval":
        shape = (2, *shape)
    is_tokens = isinstance(model.encoder, eqx.nn.Embedding | nn.OneHotLinear)
    dtype = jnp.int32 if is_tokens else dtypes.pop()
    try:
        jax.eval_shape(model, jax.ShapeDtypeStruct(shape, dtype))
    except (TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"the shapes of its parts are inconsistent: {error}") from None


@functools.cache
def _activations() -> dict[str, Any]:
    """Functions that a file may name: the public ones of `jax.nn`, and that of a linear output."""
    linear = inspect.signature(eqx.nn.MLP).parameters["final_activation"].default
    public = {name: value for name, value in vars(jax.nn).items() if callable(value)}
    return {name: value for name, value in public.items() if name[0] != "_"} | {"linear": linear}


@functools.cache
def _public_classes() -> dict[str, type]:
    """Public classes of `fractal.nn`, `fractal.baselines` and `equinox.nn`, by qualified name."""
    return {
        f"{module}.{name}": cls
        for module, package in _PUBLIC.items()
        for name, cls in vars(package).items()
        if not name.startswith("_") and _is_record(cls)
    }


def _name_of(cls: type, name: str) -> str:
    for known in (_public_classes(), _registered):
        for key, value in known.items():
            if value is cls:
                return key
    raise UserError(
        f"{name or 'the model'} cannot be saved: {cls.__name__} is not registered; pass it in "
        "classes= of fractal.train.register_model, or to fractal.register_classes"
    )


def _class_of(name: str) -> type:
    cls = _public_classes().get(name) or _registered.get(name)
    if cls is None:
        raise ValueError(f"{name!r} is not a class of {', '.join(_PUBLIC)}, nor a registered class")
    return cls
