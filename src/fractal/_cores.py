"""The processor cores that this process may use."""

import os


def cores() -> list[int]:
    """Their numbers: by the affinity of the process, or all where the system has none."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
