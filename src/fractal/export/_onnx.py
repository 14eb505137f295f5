"""ONNX: the step of a model, and the whole sequence of a fixed length.

The graphs are written operator by operator, from the same plan as the C header: they need neither
tracing nor another framework, tensors have the names of the model, and no operator is a loop.
"""

import os
import pathlib
from typing import Any, SupportsIndex

from .. import __version__
from .._errors import UserError
from .._extras import require
from ._folder import write_files


def to_onnx(
    model: Any,
    folder: str | os.PathLike,
    *,
    prefix: str = "model",
    length: SupportsIndex | None = None,
    durations: bool = False,
) -> list[pathlib.Path]:
    """Write a model of `FractalSSM` or `S5` layers as ONNX graphs in float32, for any batch size.

    A causal model is written as PREFIX-step.onnx: one step, with the state in and out. With
    `length` any model is written as PREFIX-sequence.onnx: whole sequences of this length.

    **Arguments:**

    - `model`: a `SequenceModel` of `FractalSSM` or `S5` layers.
    - `folder`: folder for the files; it is created if it does not exist.
    - `prefix`: start of the names of the files.
    - `length`: number of steps of the graph of whole sequences; shorter ones are padded.
    - `durations`: whether this graph has an input `dt`, one duration per step; not for
      `rate="path"`.

    **Returns:** the paths of the files.
    """
    from ._arguments import check_graphs
    from ._plan import make_plan

    graphs = check_graphs(model, prefix, length, durations)
    plan = make_plan(model, "onnx")
    require("onnx", "onnx", package="export to ONNX")
    if plan.dtype != "float32":
        raise UserError(
            f"must have float32 parameters for onnx, got {plan.dtype}", argument="model"
        )
    from ._onnx_sequence import sequence_graph
    from ._onnx_step import step_graph

    files = {}
    if plan.causal:
        described = "One step. The state is zero before the first step."
        graph = step_graph(plan)
        files[f"{graphs.prefix}-step.onnx"] = graph.serialize(
            f"{graphs.prefix}-step", described, __version__
        )
    if graphs.length is not None:
        described = f"Whole sequences of {graphs.length} steps; those after `lengths` are padding."
        graph = sequence_graph(plan, graphs.length, durations=graphs.durations)
        name = f"{graphs.prefix}-sequence"
        files[f"{name}.onnx"] = graph.serialize(name, described, __version__)
    return write_files(folder, files)
