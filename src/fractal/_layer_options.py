"""Options of the fractional layer: singularity indices and periods."""

from collections.abc import Sequence

import numpy as np

from ._checks import check_real

_DEFAULT_ALPHAS = tuple(np.linspace(0.0, 0.9, 8).tolist())


def check_alphas(alphas: float | Sequence[float] | None) -> tuple[float, ...]:
    """Validate singularity indices, at least one; 8 values from 0 to 0.9 by default."""
    values = _DEFAULT_ALPHAS if alphas is None else _as_tuple("alphas", alphas)
    if not values:
        raise ValueError("alphas must contain at least one value")
    return values


def check_periods(
    period: float | Sequence[float] | None,
    *,
    clock: str,
    discretization: str,
    shared: bool,
    rate: str | None,
) -> tuple[float, ...] | None:
    """Validate the periods, and the options that resonances depend on."""
    if period is None:
        return None
    for name, wrong, needed in (
        ("clock", clock != "uniform", "uniform"),
        ("discretization", discretization != "zoh", "zoh"),
        ("init", shared, "normal"),
    ):
        if wrong:
            raise ValueError(f"period needs {name}={needed!r}")
    if rate is not None:  # its time is the change of the input, not the number of steps
        raise ValueError(f"period is in steps: it cannot be combined with rate={rate!r}")
    periods = _as_tuple("period", period)
    if not periods or min(periods) < 2 or not np.isfinite(periods).all():
        raise ValueError(f"period must be at least 2 steps, or a sequence of such, got {period!r}")
    return periods


def _as_tuple(name: str, values: float | Sequence[float]) -> tuple[float, ...]:
    """Convert a scalar or a sequence of numbers to a tuple."""
    array = np.atleast_1d(check_real(name, values))
    if array.ndim != 1:
        raise ValueError(f"{name} must be a number or a sequence of numbers, got {array.shape}")
    return tuple(array.tolist())
