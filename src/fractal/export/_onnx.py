"""ONNX: the step of a model, and the whole sequence of a fixed length.

The graphs are written operator by operator, from the same plan as the C header: they need neither
tracing nor another framework, tensors have the names of the model, and no operator is a loop.
"""

import os
import pathlib
from typing import Any, SupportsIndex

from .. import __version__
from .._checks import check_flag
from .._errors import UserError
from .._extras import require
from ._folder import check_prefix, write_files


def to_onnx(
    model: Any,
    folder: str | os.PathLike,
    *,
    prefix: str = "model",
    length: SupportsIndex | None = None,
    durations: bool = False,
) -> list[pathlib.Path]:
    """Write a model of `FractalSSM` layers as graphs of ONNX, in float32, with a free batch size.

    A causal model is written as PREFIX-step.onnx: one step, with the state in and out. With
    `length` any model is written as PREFIX-sequence.onnx: whole sequences of this length.

    **Arguments:**

    - `model`: a `SequenceModel` of `FractalSSM` layers.
    - `folder`: folder for the files; it is created if it does not exist.
    - `prefix`: start of the names of the files.
    - `length`: number of steps of the graph of whole sequences; shorter ones are padded.
    - `durations`: whether this graph has an input `dt`, one duration per step.

    **Returns:** the paths of the files.
    """
    from ._plan import check_length, check_model, make_plan

    prefix, durations = check_prefix(prefix), check_flag("durations", durations)
    check_model(model)
    steps = check_length(model, length, durations)
    require("onnx", "onnx", package="export to ONNX")
    plan = make_plan(model, "onnx")
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
        files[f"{prefix}-step.onnx"] = graph.serialize(f"{prefix}-step", described, __version__)
    if steps is not None:
        described = f"Whole sequences of {steps} steps; those after `lengths` are padding."
        graph = sequence_graph(plan, steps, durations=durations)
        name = f"{prefix}-sequence"
        files[f"{name}.onnx"] = graph.serialize(name, described, __version__)
    return write_files(folder, files)
