"""FRACTAL: power-law state-space models of sequences.

- `fractal.theory`: measures, operators, spectra and projections (NumPy).
- `fractal.OnlineMemory`: streaming compression of a signal (NumPy).
- `fractal.nn`: layers and models (JAX).
- `fractal.baselines`: state-space and attention baselines (JAX).
- `fractal.torch`: the layers and models in PyTorch, with the same weight files.
- `fractal.save`, `fractal.load`: weight files of models.
- `fractal.tasks`: data sets.
- `fractal.train`: training and evaluation.
- `fractal.estimators`: classifiers, regressors, forecasters and features of your own time series.
- `fractal.export`: models as C, ONNX and StableHLO.
- `fractal.report`: HTML pages about runs, and the paper's claims, measured.

Subpackages are imported on first access, so that `import fractal` does not import JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines as baselines
    from . import estimators as estimators
    from . import export as export
    from . import nn as nn
    from . import report as report
    from . import tasks as tasks
    from . import theory as theory
    from . import torch as torch
    from . import train as train
    from ._allocator import keep_freed_memory as keep_freed_memory
    from ._memory import OnlineMemory as OnlineMemory
    from ._weights import load as load
    from ._weights import register_classes as register_classes
    from ._weights import save as save

__version__ = "0.1.0"
_SUBPACKAGES = (
    "baselines",
    "estimators",
    "export",
    "nn",
    "report",
    "tasks",
    "theory",
    "torch",
    "train",
)
_MODULES = {
    "OnlineMemory": "._memory",
    "keep_freed_memory": "._allocator",
    "load": "._weights",
    "register_classes": "._weights",
    "save": "._weights",
}
__all__ = [
    "OnlineMemory",
    "__version__",
    "baselines",
    "estimators",
    "export",
    "keep_freed_memory",
    "load",
    "nn",
    "register_classes",
    "report",
    "save",
    "tasks",
    "theory",
    "torch",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module 'fractal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
