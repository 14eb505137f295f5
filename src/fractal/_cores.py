"""The processor cores that this process may use."""

import os


def cores() -> list[int]:
    """Their indices: those of the affinity mask of the process, or all if there is none."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
