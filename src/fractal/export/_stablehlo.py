"""StableHLO by `jax.export`: one file for CPU, CUDA and TPU, with a free batch size."""

import os
import pathlib
from typing import Any, SupportsIndex

from .._errors import UserError
from .._extras import require
from ._folder import write_files

_PLATFORMS = ("cpu", "cuda", "tpu")


def to_stablehlo(
    model: Any,
    folder: str | os.PathLike,
    *,
    prefix: str = "model",
    length: SupportsIndex | None = None,
    durations: bool = False,
) -> list[pathlib.Path]:
    """Write a model for `jax.export.deserialize`, which needs JAX but not this library.

    A causal model is written as PREFIX-step.stablehlo, a function of `x`, `state` and `dt` that
    returns the output and the next state. With `length` any model is written as
    PREFIX-sequence.stablehlo, a function of `x` and `lengths` (and `dt`, with `durations`). All
    arguments have a leading axis for the batch.

    **Arguments:**

    - `model`: a `SequenceModel` with any mixer.
    - `folder`: folder for the files; it is created if it does not exist.
    - `prefix`: start of the names of the files.
    - `length`: number of steps of the function of whole sequences; shorter ones are padded.
    - `durations`: whether this function has an argument `dt`, one duration per step; not for
      `rate="path"`.

    **Returns:** the paths of the files.
    """
    from ._arguments import check_graphs

    graphs = check_graphs(model, prefix, length, durations)
    require("export", "flatbuffers", package="export to StableHLO")
    from ._stablehlo_functions import exported_sequence, exported_step, has_step

    files = {}
    if has_step(model):
        files[f"{graphs.prefix}-step.stablehlo"] = exported_step(model, _PLATFORMS)
    elif graphs.length is None:
        raise UserError("must be given: the state of a mixer grows", argument="length")
    if graphs.length is not None:
        sequence = exported_sequence(model, _PLATFORMS, graphs.length, durations=graphs.durations)
        files[f"{graphs.prefix}-sequence.stablehlo"] = sequence
    return write_files(folder, files)
