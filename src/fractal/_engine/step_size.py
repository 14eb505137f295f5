"""Range of the initial step sizes Δ."""

from typing import SupportsIndex

from .._checks import check_count, check_positive


def dt_range(
    clock: str, dt_min: float | None, dt_max: float | None, length: SupportsIndex | None
) -> tuple[float, float]:
    """The range [dt_min, dt_max] of step sizes Δ, with defaults for arguments that are None.

    The time constant of the slowest mode is about the length of the sequence. On the
    scale-invariant clock the elapsed time of the last step is 1/length, so that Δ = length/2 there
    corresponds to Δ = 1/2 on the uniform clock.
    """
    if length is not None:
        length = check_count("length", length, smallest=1)
    if clock == "scale-invariant":
        low, high = 0.3, max(3.0, (length or 0) / 2)
    elif length is not None:
        low, high = min(0.5, 2 / length), 0.5
    else:
        low, high = 1e-3, 1e-1
    low = low if dt_min is None else check_positive("dt_min", dt_min)
    high = high if dt_max is None else check_positive("dt_max", dt_max)
    if low > high:
        raise ValueError(f"dt_min must not exceed dt_max, got {low:g} > {high:g}")
    return low, high
