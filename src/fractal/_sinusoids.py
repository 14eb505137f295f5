"""Frequencies of sinusoidal position embeddings, as exact fractions of a turn."""

from fractions import Fraction

import numpy as np

_TWO_PI = Fraction(0x6487ED5110B4611A62633145C06E0E689, 1 << 128)  # 2π, rounded to 128 bits


def turns_per_step(width: int) -> list[Fraction]:
    """Turns per step of each channel: wavelengths from 2π to 2π · 10⁴ steps, each one twice."""
    channel = np.arange(width)
    frequencies = 1e4 ** -((channel - channel % 2) / width)
    return [Fraction(frequency) / _TWO_PI for frequency in frequencies.tolist()]
