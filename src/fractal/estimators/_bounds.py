"""The memory that a fit needs at least, checked before anything large is allocated."""

from typing import Any

import numpy as np
from jaxtyping import Int

from .._bounds import check_memory
from ..nn import SequenceModel
from ._padding import padded_lengths

_FLOAT = 4  # bytes
_PER_CHANNEL = 16  # floats per step, channel and block; the compiler reports 17 to 25
_PER_VALUE = 90  # bytes per step of a history: values, gaps, scales, inputs; measured: 97


def check_training_memory(
    model: SequenceModel, lengths: Int[np.ndarray, " cases"], batch: int
) -> None:
    """Raise `UserError` if all padded inputs, and the gradient of the longest batch, cannot fit."""
    width, inputs = model.encoder.weight.shape
    padded = padded_lengths(lengths)
    gradient = float(_PER_CHANNEL) * batch * int(padded.max()) * width * len(model.blocks)
    check_memory(
        _FLOAT * (gradient + float(inputs) * (lengths.sum() + padded.sum())),
        f"batches of {batch} cases of up to {lengths.max():,} steps",
        advice="lower batch_size, width or depth, or cut or average the series",
    )


def check_history_memory(y: Any) -> None:
    """Raise `UserError` if series cannot fit once they are padded to the longest.

    `y`: arrays, or a list of (time,) or (channels, time) arrays.
    """
    series = y if isinstance(y, list | tuple) and len(y) and np.ndim(y[0]) else [y]
    shapes = [np.shape(one) for one in series]
    if not all(shapes):
        return  # no series: reading them says so
    longest = max(shape[-1] for shape in shapes)
    rows = sum(int(np.prod(shape[:-1])) for shape in shapes)
    check_memory(
        float(_PER_VALUE) * rows * longest,
        f"{rows:,} series, padded to the longest, {longest:,} steps",
        advice="fit series of similar lengths together, or cut the longest",
    )
