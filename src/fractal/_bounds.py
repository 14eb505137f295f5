"""Check that enough memory is available, before anything is allocated."""

import math
import pathlib

from ._errors import UserError


def check_memory(
    needed: float, what: str, available: float | None = None, *, advice: str = ""
) -> None:
    """Raise `UserError` with both numbers if `what` needs more bytes than are available.

    `advice` says what to do.
    """
    limit = available_bytes() if available is None else available
    if needed > limit:
        raise UserError(
            f"not enough memory for {what}: at least {needed / 1e9:,.1f} GB needed, "
            f"{limit / 1e9:,.1f} GB available{'; ' if advice else ''}{advice}"
        )


def available_bytes() -> float:
    """Free memory of this machine; infinite where the system does not report it."""
    try:
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return float(found["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in found else math.inf
