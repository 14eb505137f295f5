"""Timing on a noisy machine: calls of the candidates are interleaved, and medians compared."""

import dataclasses
import time
from collections.abc import Callable, Mapping

import numpy as np


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds per call: median and quartiles."""

    median: float
    low: float
    high: float

    def scaled(self, factor: float) -> dict[str, float]:
        """The same in another unit, as JSON-serializable values."""
        return {name: value * factor for name, value in dataclasses.asdict(self).items()}


def interleaved(
    candidates: Mapping[str, Callable[[], object]], rounds: int = 9, pause: float = 0.0
) -> dict[str, Timing]:
    """Time each candidate once per round, after a warm-up round.

    `pause` seconds before each call let the threads of the previous candidate go idle.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds + 1):
        for name, call in candidates.items():
            time.sleep(pause)
            start = time.perf_counter()
            call()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {
        name: Timing(*(float(q) for q in np.percentile(taken, [50, 25, 75])))
        for name, taken in seconds.items()
    }
