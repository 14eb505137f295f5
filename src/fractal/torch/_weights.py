"""Weight files: those of `fractal.save` and `fractal.load`, byte for byte.

The tensors of a file have the names of the `state_dict` of a model, and the structure in its header
names classes of `fractal.nn` and `equinox.nn`. Each class here lists its fields in `FIELDS`, which
are those of its counterpart. Loading neither imports nor calls anything that a file names.
"""

# pyright: reportMissingImports=false

import os
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._checks import check_path
from .._errors import UserError
from .._files import read_model, write_model
from ._block import Block
from ._filter_bank import FreeBank, LearnedAlphaBank
from ._head import RetrievalHead
from ._layer import FractalSSM
from ._linear import OneHotLinear
from ._model import SequenceModel
from ._norms import BatchNorm, LayerNorm, Statistics
from ._rate import PathRate, SelectiveRate

_MODULES = (FractalSSM, FreeBank, LearnedAlphaBank, Block, SequenceModel, RetrievalHead)
_MODULES += (OneHotLinear, LayerNorm, BatchNorm, Statistics, SelectiveRate, PathRate)
_CLASSES: dict[str, Any] = {f"fractal.nn.{cls.__name__}": cls for cls in _MODULES}
_NAMES = {cls: name for name, cls in _CLASSES.items()}
_LINEAR, _EMBEDDING = "equinox.nn.Linear", "equinox.nn.Embedding"
# Fields that files of earlier versions do not have.
_DEFAULTS = {"scan": "auto", "rate": None, "remat": False, "masking": "all"}


def save(path: str | os.PathLike, model: nn.Module) -> None:
    """Write a model to a file that `fractal.load` and `fractal.torch.load` read.

    **Arguments:**

    - `path`: path of the file; by convention it ends in `.safetensors`.
    - `model`: a `SequenceModel`, `Block` or `FractalSSM` of `fractal.torch`.
    """
    path = check_path("path", path)
    if type(model) not in _NAMES:
        kind = type(model).__name__
        raise UserError(f"must be a module of fractal.torch, got a {kind}", argument="model")
    tensors: dict[str, np.ndarray] = {}
    structure = _encode(model, "", tensors)
    write_model(path, tensors, structure)


def load(path: str | os.PathLike) -> Any:
    """Read a model written by `fractal.save` or `fractal.torch.save`, in evaluation mode.

    **Raises:** `ValueError` if the file is corrupted, or contains a class that `fractal.torch` does
    not have.
    """
    path = check_path("path", path)
    try:
        arrays, structure = read_model(path)
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        unused = set(tensors)
        model = _decode(structure, tensors, unused)
        if unused:
            raise ValueError(f"its tensor {min(unused)} belongs to no field")
        model.eval()
        _check_runs(model)
    except (ValueError, TypeError, AttributeError, LookupError, RuntimeError) as error:
        message = f"{os.fspath(path)} is not a model that fractal.torch reads: {error}"
        raise ValueError(" ".join(message.split())) from None
    return model


def _encode(value: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """Encode a value as JSON; tensors are added to `tensors` under their path in the model."""

    def within(items):
        return {
            str(key): _encode(item, f"{name}.{key}" if name else str(key), tensors)
            for key, item in items
        }

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().numpy()
        return {"tensor": name}
    if isinstance(value, tuple | nn.ModuleList):
        return {"tuple": list(within(enumerate(value)).values())}
    if isinstance(value, nn.Linear):
        fields = {"weight": value.weight, "bias": value.bias, "in_features": value.in_features}
        fields |= {"out_features": value.out_features, "use_bias": value.bias is not None}
        return {"class": _LINEAR, "fields": within(fields.items())}
    if isinstance(value, nn.Embedding):
        fields = {"num_embeddings": value.num_embeddings, "embedding_size": value.embedding_dim}
        return {"class": _EMBEDDING, "fields": within({**fields, "weight": value.weight}.items())}
    if type(value) in _NAMES:
        fields = {field: getattr(value, field) for field in type(value).FIELDS}
        return {"class": _NAMES[type(value)], "fields": within(fields.items())}
    kind = type(value).__name__
    raise UserError(f"{name} cannot be saved: {kind} is not a class of fractal.torch")


def _decode(value: Any, tensors: dict[str, Tensor], unused: set[str]) -> Any:
    """Inverse of `_encode`; removes the tensors that it reads from `unused`."""
    match value:
        case {"tensor": str(tensor), **rest} if not rest:
            if tensor not in tensors:
                raise ValueError(f"it contains no tensor {tensor!r}")
            unused.discard(tensor)
            return tensors[tensor]
        case {"tuple": list(items), **rest} if not rest:
            return tuple(_decode(item, tensors, unused) for item in items)
        case {"class": str(cls), "fields": dict(fields), **rest} if not rest:
            return _build(
                cls, {name: _decode(item, tensors, unused) for name, item in fields.items()}
            )
        case dict() | list():
            raise ValueError(f"{str(value)[:60]} is not a valid value")
    return value


def _build(name: str, fields: dict[str, Any]) -> nn.Module:
    """A module from the values of its fields, without initialization."""
    if name == _EMBEDDING:
        return nn.Embedding.from_pretrained(fields["weight"], freeze=False)
    if name == _LINEAR:
        weight, bias = fields["weight"], fields["bias"]
        inputs, outputs = weight.shape[1], weight.shape[0]
        layer = nn.Linear(inputs, outputs, bias=bias is not None, device="meta")
        layer.weight = nn.Parameter(weight)
        if bias is not None:
            layer.bias = nn.Parameter(bias)
        return layer
    if name not in _CLASSES:
        raise ValueError(f"{name!r} is not a class that fractal.torch has; use fractal.load")
    cls = _CLASSES[name]
    values = {field: _DEFAULTS[field] for field in cls.FIELDS if field in _DEFAULTS} | fields
    if set(values) != set(cls.FIELDS):
        raise ValueError(f"{name} has the fields {sorted(cls.FIELDS)}, not {sorted(fields)}")
    module = cls.__new__(cls)
    nn.Module.__init__(module)
    for field, item in values.items():
        if isinstance(item, Tensor) and cls is Statistics:
            module.register_buffer(field, item)
        elif isinstance(item, Tensor):
            setattr(module, field, nn.Parameter(item))
        elif isinstance(item, tuple) and field == "blocks":
            setattr(module, field, nn.ModuleList(item))
        else:
            setattr(module, field, item)
    if hasattr(module, "check"):
        module.check()
    return module


@torch.no_grad()
def _check_runs(model: nn.Module) -> None:
    """Call a model on three steps, which fails if shapes of its parts are inconsistent."""
    dtypes = {tensor.dtype for tensor in model.state_dict().values()}
    if dtypes not in ({torch.float32}, {torch.float64}):
        raise ValueError(f"its tensors have dtypes {', '.join(sorted(map(str, dtypes)))}")
    if isinstance(model, FractalSSM):
        model(torch.zeros(1, 3, len(model.D), dtype=dtypes.pop()))
    elif isinstance(model, Block):
        model(torch.zeros(1, 3, len(model.norm.weight), dtype=dtypes.pop()))
    elif isinstance(model, SequenceModel):
        shape = (1, 2, 3) if model.task == "retrieval" else (1, 3)
        if isinstance(model.encoder, nn.Linear):
            model(torch.zeros(*shape, model.encoder.in_features, dtype=dtypes.pop()))
        else:
            model(torch.zeros(shape, dtype=torch.int64))
