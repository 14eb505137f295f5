"""Argument validation.

Each check returns the validated value, if any, and raises `ValueError` with one line that names the
argument, the allowed range and the value.
"""

import difflib
import operator
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ._bounds import check_memory
from ._errors import UserError


def check_alpha(alpha: float, largest: float | None = None) -> float:
    """Validate the singularity index: a float in [0, 1), or in [0, `largest`] if given."""
    allowed = "[0, 1)" if largest is None else f"[0, {largest}]"
    value = _number(alpha)
    inside = 0 <= value < 1 if largest is None else 0 <= value <= largest
    if not inside:
        raise ValueError(f"alpha must lie in {allowed}, got {alpha!r}")
    return value


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Validate a string option against its allowed values."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def check_order(order: SupportsIndex) -> int:
    """Validate the number of polynomials, an even integer of at least 2.

    At odd orders eigenvalues of the operator coincide (docs/theory.md).
    """
    value = check_count("order", order, smallest=2)
    if value % 2:
        raise ValueError(f"order must be even, got {order!r}: use {value - 1} or {value + 1}")
    check_memory(16.0 * value**2, f"order={value}")  # one complex matrix
    return value


def check_count(name: str, count: SupportsIndex, smallest: int) -> int:
    """Validate an integer of at least `smallest`."""
    try:
        value = operator.index(count)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {count!r}") from None
    if isinstance(count, bool) or value < smallest:
        raise ValueError(f"{name} must be a whole number of at least {smallest}, got {count!r}")
    return value


def check_positive(name: str, value: float) -> float:
    """Validate a finite number above zero."""
    number = _number(value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    return number


def check_probability(name: str, value: float) -> float:
    """Validate a number in [0, 1)."""
    number = _number(value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must lie in [0, 1), got {value!r}")
    return number


def check_flag(name: str, value: bool) -> bool:
    """Validate a boolean; integers are rejected."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _number(value: object) -> float:
    """Convert to float; NaN if the value is not a number."""
    if isinstance(value, str | bytes | bool):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return np.nan


def check_path(name: str, path: object) -> pathlib.Path:
    """Validate a non-empty path."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ValueError(f"{name} must be a path, got {path!r}")
    return pathlib.Path(path)


def check_unit_interval(name: str, values: ArrayLike) -> Float[np.ndarray, "..."]:
    """Validate numbers in [0, 1]; returns a float64 array."""
    array = check_real(name, values)
    if np.any((array < 0) | (array > 1)):
        first = array[(array < 0) | (array > 1)].flat[0]
        raise ValueError(f"{name} must lie in [0, 1], got {float(first)!r}")
    return array


def check_ages(ages: ArrayLike) -> Float[np.ndarray, " ages"]:
    """Validate a one-dimensional array of relative ages in [0, 1]."""
    array = check_unit_interval("ages", ages)
    if array.ndim != 1:
        raise ValueError(f"ages must have shape (ages,), got {array.shape}")
    return array


def check_samples(samples: ArrayLike) -> Float[np.ndarray, "..."]:
    """Validate a non-empty, finite signal of shape (time,) or (time, channels)."""
    array = check_real("samples", samples)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(
            f"samples must have shape (time,) or (time, channels), not empty; got {array.shape}"
        )
    return array


def check_real(name: str, values: object) -> Float[np.ndarray, "..."]:
    """Validate finite real numbers; returns a float64 array."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be an array of real numbers")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return array


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise `UserError` for an unknown name and suggest the closest known one."""
    known = tuple(known)
    if name not in known:
        matches = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {matches[0]}?" if matches else f"choose one of {', '.join(known)}"
        raise UserError(f"there is no {kind} {name!r}: {hint}")
