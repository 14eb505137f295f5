"""The memory that a run needs at least, checked before anything is built."""

import jax

from .._bounds import check_memory
from ..tasks import Task
from ._config import Config, ModelConfig
from ._models import spec_of

_COPIES = 4  # of the parameters: themselves, their gradient and Adam's two moments
_FLOAT = 4  # bytes


def check_model_memory(model: ModelConfig) -> None:
    """Refuse a model whose parameters, or whose construction, cannot fit."""
    spec = spec_of(model.name)
    needed = float(_COPIES * _FLOAT) * _least_parameters(model)
    if spec.setup_bytes is not None:
        needed = max(needed, spec.setup_bytes(_size(model)))
    _check(needed, f"width {model.width}, depth {model.depth} and {spec.size} {_size(model)}")


def check_run_memory(config: Config, task: Task) -> None:
    """Refuse a batch whose activations cannot fit.

    Differentiation keeps at least the input of every block.
    """
    model, batch = config.model, config.data.batch
    steps = task.length * (2 if task.kind == "retrieval" else 1)
    kept = float(batch) * steps * model.width * (model.depth + 1)
    bytes_each = 2 if model.dtype == "bfloat16" else _FLOAT
    shared = kept * bytes_each / jax.device_count()
    needed = shared + _COPIES * _FLOAT * _least_parameters(model)
    _check(needed, f"batch {batch} of length {task.length}, width {model.width}, "
                   f"depth {model.depth}")  # fmt: skip


def _least_parameters(model: ModelConfig) -> float:
    """A lower bound: one matrix per block, and what grows with the size of a mixer or block."""
    kind = spec_of(model.name).kind
    if kind == "model":
        return float(model.width)
    return float(model.depth) * model.width * (model.width + _size(model) / 2)


def _size(model: ModelConfig) -> int:
    """The model's size: that of the settings, else the factory's default."""
    spec = spec_of(model.name)
    if spec.size is None:
        return 0
    default = spec.parameters()[spec.size].default if spec.accepts(spec.size) else None
    size = model.options.get(spec.size, default)
    return size if isinstance(size, int) and size > 0 else 0


def _check(needed: float, why: str) -> None:
    """Compare with the memory of the device, where it reports it, or of the machine."""
    stats = jax.local_devices()[0].memory_stats()
    limit = float(stats["bytes_limit"]) if stats and "bytes_limit" in stats else None
    check_memory(needed, why, limit)
