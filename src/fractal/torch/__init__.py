"""Layers and models in PyTorch, with the options and the weight files of `fractal.nn`.

A `SequenceModel` is a stack of `Block`s, a `Block` contains a mixer such as `FractalSSM`, and the
mixer computes a linear recurrence (`linear_scan`). Needs the extra `torch`; JAX is not imported.
"""

# pyright: reportMissingImports=false

# ruff: noqa: E402 - the check of the extra comes before the imports that need it.

from .._extras import require as _require

_require("torch", "torch")

from ._block import Block as Block
from ._layer import FractalSSM as FractalSSM
from ._layer import FractalState as FractalState
from ._model import SequenceModel as SequenceModel
from ._model_state import ModelState as ModelState
from ._scan import linear_scan as linear_scan
from ._weights import load as load
from ._weights import save as save
