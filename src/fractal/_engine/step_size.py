"""The range that initial step sizes Δ are drawn from."""

from typing import SupportsIndex

from .._checks import check_count, check_positive


def dt_range(
    clock: str, dt_min: float | None, dt_max: float | None, length: SupportsIndex | None
) -> tuple[float, float]:
    """The range of the time steps Δ, with what the user leaves open filled in.

    The slowest mode should reach about the length of the sequence. On the scale-invariant clock a
    step at its end passes 1/length: Δ = length/2 resolves it as 1/2 does on the uniform clock.
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
