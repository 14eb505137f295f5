"""Argument validation.

Each check returns the validated value, if any. It raises `UserError`, a `ValueError`, with one line
that names the argument, the allowed range and the value.
"""

import difflib
import operator
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ._bounds import check_memory
from ._cores import cores
from ._errors import UserError

_WORKERS_PER_CORE = 4
_SEEDS = 2**32
_SHOWN = 60  # characters of a wrong value


def _wrong(name: str, message: str, value: object) -> UserError:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN and "\n" not in shown else f"a {type(value).__name__}"
    return UserError(f"{message}, got {shown}", argument=name)


def check_alpha(alpha: float, largest: float | None = None) -> float:
    """Validate the singularity index: a float in [0, 1), or in [0, `largest`] if given."""
    allowed = "[0, 1)" if largest is None else f"[0, {largest}]"
    value = _number(alpha)
    inside = 0 <= value < 1 if largest is None else 0 <= value <= largest
    if not inside:
        raise _wrong("alpha", f"must lie in {allowed}", alpha)
    return value


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Validate a string option against its allowed values."""
    if not isinstance(value, str) or value not in allowed:
        raise _wrong(name, f"must be one of {', '.join(allowed)}", value)


def check_order(order: SupportsIndex) -> int:
    """Validate the number of polynomials, an even integer of at least 2.

    At odd orders eigenvalues of the operator coincide (docs/theory.md).
    """
    value = check_count("order", order, smallest=2)
    if value % 2:
        message = f"must be even, got {order!r}: use {value - 1} or {value + 1}"
        raise UserError(message, argument="order")
    check_memory(16.0 * value**2, f"order={value}")  # one complex matrix
    return value


def check_count(
    name: str, count: Any, smallest: int, largest: int | None = None, why: str = ""
) -> int:
    """Validate an integer in [`smallest`, `largest`]; `why` explains the bounds."""
    try:
        value = operator.index(count)
    except TypeError:
        value = None
    if value is None or isinstance(count, bool):
        raise _wrong(name, "must be an integer", count)
    if value < smallest:
        raise _wrong(name, f"must be an integer of at least {smallest}{why}", count)
    if largest is not None and value > largest:
        raise _wrong(name, f"must be at most {largest}{why}", count)
    return value


def check_seed(seed: object) -> int:
    """Validate the seed of a random stream."""
    return check_count("seed", seed, 0, _SEEDS - 1)


def check_workers(workers: object) -> int:
    """Validate a number of processes; a few per core are allowed."""
    why = f", {_WORKERS_PER_CORE} per core"
    check_count("workers", workers, 1)
    return check_count("workers", workers, 1, _WORKERS_PER_CORE * len(cores()), why)


def check_type(name: str, value: object, kind: type) -> None:
    """Validate the class of an argument."""
    if not isinstance(value, kind):
        raise _wrong(name, f"must be a {kind.__name__}", value)


def check_positive(name: str, value: float) -> float:
    """Validate a finite number above zero."""
    number = _number(value)
    if not (np.isfinite(number) and number > 0):
        raise _wrong(name, "must be a finite number above 0", value)
    return number


def check_nonnegative(name: str, value: float) -> float:
    """Validate a finite number of at least zero."""
    number = _number(value)
    if not (np.isfinite(number) and number >= 0):
        raise _wrong(name, "must be a finite number of at least 0", value)
    return number


def check_probability(name: str, value: float) -> float:
    """Validate a number in [0, 1)."""
    number = _number(value)
    if not 0 <= number < 1:
        raise _wrong(name, "must lie in [0, 1)", value)
    return number


def check_flag(name: str, value: bool) -> bool:
    """Validate a boolean; integers are rejected."""
    if not isinstance(value, bool | np.bool_):
        raise _wrong(name, "must be True or False", value)
    return bool(value)


def _number(value: Any) -> float:
    """Convert to float; NaN if the value is not a number."""
    if isinstance(value, str | bytes | bool):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def check_path(name: str, path: object) -> pathlib.Path:
    """Validate a path; the empty string is not one."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise _wrong(name, "must be a path", path)
    if not os.fspath(path) or "\0" in os.fspath(path):
        raise _wrong(name, "must be a path, neither empty nor with a null character", path)
    return pathlib.Path(path)


def check_unit_interval(name: str, values: ArrayLike) -> Float[np.ndarray, "..."]:
    """Validate numbers in [0, 1]; returns a float64 array."""
    array = check_real(name, values)
    if np.any((array < 0) | (array > 1)):
        first = array[(array < 0) | (array > 1)].flat[0]
        raise _wrong(name, "must lie in [0, 1]", float(first))
    return array


def check_ages(ages: ArrayLike) -> Float[np.ndarray, " ages"]:
    """Validate a one-dimensional array of relative ages in [0, 1]."""
    array = check_unit_interval("ages", ages)
    if array.ndim != 1:
        raise _wrong("ages", "must have shape (ages,)", array.shape)
    return array


def check_samples(samples: ArrayLike) -> Float[np.ndarray, "..."]:
    """Validate a non-empty, finite signal of shape (time,) or (time, channels)."""
    array = check_real("samples", samples)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(
            f"samples must have shape (time,) or (time, channels), not empty; got {array.shape}"
        )
    return array


def check_real(name: str, values: object, *, missing: bool = False) -> Float[np.ndarray, "..."]:
    """Validate finite real numbers, or NaN if values may be missing; returns a float64 array."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise UserError("must be an array of real numbers", argument=name)
    array = array.astype(np.float64, copy=False)
    if missing and np.isinf(array).any():
        raise UserError("must not be infinite; NaN is missing", argument=name)
    if not missing and not np.isfinite(array).all():
        raise UserError("must be finite, got NaN or infinity", argument=name)
    return array


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise `UserError` for an unknown name and suggest the closest known one."""
    known = tuple(known)
    if name not in known:
        matches = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {matches[0]}?" if matches else f"choose one of {', '.join(known)}"
        raise UserError(f"there is no {kind} {name!r}: {hint}")
