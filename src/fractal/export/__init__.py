"""Models outside of this library: as C, ONNX and StableHLO."""

from ._c import to_c as to_c
from ._onnx import to_onnx as to_onnx
from ._stablehlo import to_stablehlo as to_stablehlo
