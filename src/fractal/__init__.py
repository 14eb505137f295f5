"""FRACTAL: power-law memory for sequence models.

`fractal.theory` holds the mathematics (NumPy), `fractal.OnlineMemory` the streaming memory,
`fractal.nn` what is trained (JAX).
Parts are loaded when they are first used, so that `import fractal` is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import nn as nn
    from . import theory as theory
    from ._memory import OnlineMemory as OnlineMemory

__version__ = "0.1.0"
__all__ = ["OnlineMemory", "__version__", "nn", "theory"]


def __getattr__(name: str) -> Any:
    if name in ("theory", "nn"):
        return importlib.import_module(f".{name}", __name__)
    if name == "OnlineMemory":
        return importlib.import_module("._memory", __name__).OnlineMemory
    raise AttributeError(f"module 'fractal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
