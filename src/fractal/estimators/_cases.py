"""Time series as users have them: arrays, lists of unequal lengths, long tables, time stamps.

All forms become a `CaseSet`: one array (time, channels) per case, NaN where a value is missing.
Steps at the end of a case in which every channel is missing are padding and are removed.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_array

from .._errors import UserError
from ._tables import is_table, long_table


class CaseSet(NamedTuple):
    """Time series of one or more channels, of any lengths.

    - `values`: per case an array (time, channels) of float64, NaN where a value is missing.
    - `times`: per case the times of the samples (time,), strictly increasing; None if not given.
    - `ids`: the identifier of each case, from a long table; None otherwise.
    """

    values: list[Float[np.ndarray, "time channels"]]
    times: list[Float[np.ndarray, " time"]] | None
    ids: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def channels(self) -> int:
        """Number of channels of every case."""
        return self.values[0].shape[1]

    @property
    def lengths(self) -> np.ndarray:
        """Number of steps of each case."""
        return np.array([len(case) for case in self.values])


def read_cases(X: Any, times: Any = None, *, estimator: Any = None) -> CaseSet:
    """Read and validate time series.

    **Arguments:**

    - `X`: an array (cases, time) or (cases, channels, time), a list of arrays (channels, time) or
      (time,), or a pandas long table: columns `id` and `time`, and one column per channel. NaN is a
      missing value.
    - `times`: times of the samples, finite, non-negative and strictly increasing: (time,) for all
      cases, or one array (time,) per case, or datetime64 values. A long table has its own.
    - `estimator`: named in messages.

    A `CaseSet` that was read before is returned as it is.

    **Raises:** `ValueError` with one line for any other input.
    """
    if isinstance(X, CaseSet):
        return X
    if is_table(X):
        if times is not None:
            raise UserError("must not be given with a long table", argument="times")
        ids, values, stamps = long_table(X)
        given: Any = stamps
    else:
        ids, given, values = None, times, _values(X, estimator)
    _check_same_channels(values)
    stamps = None if given is None else _stamps(given, [len(case) for case in values])
    ends = [_end(case, i) for i, case in enumerate(values)]
    values = [case[:end] for case, end in zip(values, ends, strict=True)]
    if stamps is not None:
        stamps = [
            _times(one[:end], i) for i, (one, end) in enumerate(zip(stamps, ends, strict=True))
        ]
    return CaseSet(values, stamps, ids)


def read_case(
    x: Any, times: Any = None, *, argument: str = "x", origin: np.datetime64 | None = None
) -> CaseSet:
    """Read one series (channels, time) or (time,), whose last values may be missing.

    Dates become seconds since `origin`, by default the first of them.
    """
    values = _case(argument, x)
    if times is None:
        return CaseSet([values], None)
    stamps = _numbers("times", times, origin)
    if stamps.shape != (len(values),):
        raise UserError(
            f"must have one entry per step, ({len(values)},), got {stamps.shape}",
            argument="times",
        )
    return CaseSet([values], [_times(stamps, None)])


def first_date(times: Any) -> np.datetime64 | None:
    """The first of datetime64 times; None if times are numbers or not given."""
    array = _array(times)
    return array.flat[0] if array.dtype.kind == "M" and array.size else None


def check_channels(cases: CaseSet, channels: int, estimator: Any) -> None:
    """Raise `ValueError` unless the cases have as many channels as in `fit`."""
    if cases.channels != channels:
        raise UserError(
            f"has {cases.channels} channels, but {type(estimator).__name__} was fitted with "
            f"{channels}",
            argument="X",
        )


def _values(X: Any, estimator: Any) -> list[np.ndarray]:
    if _is_list_of_cases(X):
        if not len(X):
            raise UserError("must contain at least one case", argument="X")
        return [_case(f"X[{i}]", case) for i, case in enumerate(X)]
    # scikit-learn's own checks, with its messages: sparse, complex, strings, infinite, empty, 1-D.
    finite: Any = "allow-nan"
    array = check_array(
        X,
        dtype="float64",
        ensure_all_finite=finite,
        allow_nd=True,
        estimator=estimator,
        input_name="X",
    )
    if array.ndim > 3 or 0 in array.shape:
        raise UserError(
            f"must have shape (cases, time) or (cases, channels, time), got {array.shape}",
            argument="X",
        )
    cases = array[:, None] if array.ndim == 2 else array
    return [np.ascontiguousarray(case.T) for case in cases]


def _is_list_of_cases(X: Any) -> bool:
    """Whether X is a list of arrays, or nested lists that are not one array."""
    if isinstance(X, np.ndarray):
        return X.dtype == object and X.ndim == 1 and len(X) > 0 and not np.isscalar(X[0])
    if not isinstance(X, list | tuple):
        return False
    if any(isinstance(case, np.ndarray) and case.ndim for case in X):
        return True
    try:
        np.asarray(X)
    except ValueError:  # unequal lengths
        return True
    return False


def _case(argument: str, value: Any) -> Float[np.ndarray, "time channels"]:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        raise UserError("must have channels of equal length", argument=argument) from None
    if array.dtype == object:
        raise UserError(
            "must be numbers (channels, time), with channels of equal length", argument=argument
        )
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or array.size == 0:
        raise UserError(
            f"must be real numbers (channels, time) or (time,), got {array.dtype} {array.shape}",
            argument=argument,
        )
    array = np.atleast_2d(array).T.astype(np.float64)
    if np.isinf(array).any():
        raise UserError("must not contain infinite values", argument=argument)
    return array


def _check_same_channels(values: list[np.ndarray]) -> None:
    expected = values[0].shape[1]
    for i, case in enumerate(values):
        if case.shape[1] != expected:
            raise UserError(
                f"must have the same number of channels in all cases, got {expected} in case 0 and "
                f"{case.shape[1]} in case {i}",
                argument="X",
            )


def _end(case: Float[np.ndarray, "time channels"], index: int) -> int:
    """Number of steps up to the last one with a value."""
    seen = np.flatnonzero(~np.isnan(case).all(axis=1))
    if not len(seen):
        raise UserError(f"must have a value in every case, case {index} is all NaN", argument="X")
    return int(seen[-1]) + 1


def _stamps(given: Any, lengths: list[int]) -> list[np.ndarray]:
    """Time stamps per case, as numbers, of the lengths of the cases."""
    try:
        shared = np.asarray(given)
    except ValueError:
        shared = np.empty(len(lengths), object)
    if shared.ndim == 0:
        raise UserError(
            f"must be the times of the samples, (time,) for all cases or one array per case, "
            f"got {given!r:.60}",
            argument="times",
        )
    if shared.ndim == 1 and shared.dtype != object:
        read = [_numbers("times", shared)] * len(lengths)
    else:
        if len(given) != len(lengths):
            raise UserError(
                f"must have one array per case, {len(lengths)}, got {len(given)}", argument="times"
            )
        read = [_numbers(f"times[{i}]", one) for i, one in enumerate(given)]
    for i, (one, length) in enumerate(zip(read, lengths, strict=True)):
        if one.shape != (length,):
            raise UserError(
                f"must have one entry per step: case {i} has {length} steps, got {one.shape}",
                argument="times",
            )
    return read


def _array(value: Any) -> np.ndarray:
    """An array; an array of None if rows are of unequal lengths."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.asarray(None)


def _numbers(argument: str, value: Any, origin: np.datetime64 | None = None) -> np.ndarray:
    """Numbers, or datetime64 values as seconds since `origin`, by default since the first."""
    array = _array(value)
    if origin is not None and array.size and array.dtype.kind != "M":
        raise UserError("must be datetime64 values as before", argument=argument)
    if array.dtype.kind == "M" and array.size:
        array = (array - (array.flat[0] if origin is None else origin)) / np.timedelta64(1, "s")
    elif array.dtype.kind == "m":
        array = array / np.timedelta64(1, "s")
    if array.dtype.kind not in "biuf":
        raise UserError("must be numbers or datetime64 values", argument=argument)
    return array.astype(np.float64)


def _times(times: np.ndarray, index: int | None) -> Float[np.ndarray, " time"]:
    where = "" if index is None else f" in case {index}"
    if not np.isfinite(times).all():
        raise UserError(f"must be finite{where}, got NaN or infinity", argument="times")
    if len(times) and times[0] < 0:
        raise UserError(f"must not be negative{where}, got {times[0]:g}", argument="times")
    if (np.diff(times) <= 0).any():
        raise UserError(f"must be strictly increasing{where}", argument="times")
    return times
