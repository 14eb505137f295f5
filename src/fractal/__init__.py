"""FRACTAL: power-law memory for sequence models.

`fractal.theory` holds the mathematics (NumPy), `fractal.OnlineMemory` the streaming memory,
`fractal.nn` what is trained (JAX), `fractal.baselines` what it is compared with, `fractal.save`
and `fractal.load` the files of both, `fractal.tasks` the data, `fractal.train` the training.
Parts are loaded when they are first used, so that `import fractal` is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines as baselines
    from . import nn as nn
    from . import tasks as tasks
    from . import theory as theory
    from . import train as train
    from ._allocator import keep_freed_memory as keep_freed_memory
    from ._memory import OnlineMemory as OnlineMemory
    from ._weights import load as load
    from ._weights import register_classes as register_classes
    from ._weights import save as save

__version__ = "0.1.0"
_PARTS = ("baselines", "nn", "tasks", "theory", "train")
_HOMES = {
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
    "keep_freed_memory",
    "load",
    "nn",
    "register_classes",
    "save",
    "tasks",
    "theory",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module 'fractal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
