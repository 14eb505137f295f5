"""Sinusoidal positions in integer arithmetic: angles in turns of 2⁶⁴ that wrap around.

The error of an angle is at most n/2⁶⁵ turns at step n, below 2⁻²⁵ turns up to 10¹² steps.
"""

import numpy as np
from jaxtyping import Float

from .._sinusoids import turns_per_step


def sinusoid_turns(width: int) -> list[int]:
    """Turns per step of each channel's sinusoid, in units of 2⁻⁶⁴."""
    return [round(turns * 2**64) % 2**64 for turns in turns_per_step(width)]


def sinusoids(length: int, width: int) -> Float[np.ndarray, "length width"]:
    """The embeddings of the first `length` steps."""
    turns = np.array(sinusoid_turns(width), np.uint64)
    angles = np.arange(length, dtype=np.uint64)[:, None] * turns
    angles += (np.arange(width, dtype=np.uint64) % 2) << np.uint64(62)  # cos x = sin(x + ¼ turn)
    return np.sin(angles.astype(np.int64) * (2 * np.pi / 2**64))
