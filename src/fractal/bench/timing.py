"""Fair timing on a noisy machine: the contestants take turns, and medians are compared."""

import dataclasses
import os
import platform
import time
from collections.abc import Callable, Mapping

import numpy as np


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds for one call: median, and the quartiles as spread."""

    median: float
    low: float
    high: float

    def scaled(self, factor: float) -> dict[str, float]:
        """For a table, in another unit."""
        return {name: value * factor for name, value in dataclasses.asdict(self).items()}


def interleaved(
    contestants: Mapping[str, Callable[[], object]], rounds: int = 9, pause: float = 0.0
) -> dict[str, Timing]:
    """Time each contestant once a round, after one round to warm up.

    `pause` seconds before each turn let the threads of the one before it go to sleep.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, call in contestants.items():
            time.sleep(pause)
            start = time.perf_counter()
            call()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {
        name: Timing(*(float(q) for q in np.percentile(taken, [50, 25, 75])))
        for name, taken in seconds.items()
    }


def machine() -> dict[str, str | int | None]:
    """What the numbers were measured on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            named = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        named = []
    return named[0] if named else platform.machine()
