"""Long tables of pandas: a row per sample, with the columns `id` and `time`."""

import sys
from typing import Any

import numpy as np

from .._errors import UserError

ID, TIME = "id", "time"


def is_frame(X: Any) -> bool:
    """Whether X is a pandas data frame; pandas itself is not required."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def is_table(X: Any) -> bool:
    """Whether X is a long table: a data frame with the columns `id` and `time`."""
    return is_frame(X) and ID in X.columns and TIME in X.columns


def long_table(
    table: Any, argument: str = "X"
) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """Identifiers, values (time, channels) and times (time,) of the cases of a long table.

    Cases are in the order of their first rows, samples in the order of their times. Dates are
    converted to seconds since the first sample of their case. Columns other than `id` and `time`
    are channels. Errors name `argument`.
    """
    channels = [name for name in table.columns if name not in (ID, TIME)]
    if not channels:
        raise UserError(f"must have columns besides {ID!r} and {TIME!r}", argument=argument)
    if not len(table):
        raise UserError("must contain at least one case", argument=argument)
    for name in (ID, TIME):
        if table[name].isna().any():
            raise UserError(f"must have no missing value in column {name!r}", argument=argument)
    values = np.stack([numbers_of(table[name], argument) for name in channels], axis=1)
    stamps = _seconds(table[TIME], argument)
    codes, ids = table[ID].factorize()
    order = np.lexsort((stamps, codes))
    ordered = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    times = [stamps[one] for one in ordered]
    if table[TIME].dtype.kind == "M":
        times = [one - one[0] for one in times]
    for name, one in zip(ids, times, strict=True):
        if (np.diff(one) <= 0).any():
            raise UserError(
                f"must have distinct times: {ID} {name!r} has duplicates", argument=argument
            )
    return np.asarray(ids), [values[one] for one in ordered], times


def numbers_of(column: Any, argument: str) -> np.ndarray:
    """The values of a column, NaN where they are missing; dates are no values."""
    try:
        if column.dtype.kind in "mM":
            raise TypeError
        values = column.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise UserError(f"must have numbers in column {column.name!r}", argument=argument) from None
    if np.isinf(values).any():
        raise UserError(
            f"must not contain infinite values: column {column.name!r}", argument=argument
        )
    return values


def _seconds(column: Any, argument: str) -> np.ndarray:
    if column.dtype.kind != "M":
        return numbers_of(column, argument)
    # Local times repeat an hour in autumn: dates with a time zone are compared in UTC.
    naive = column.dt.tz_convert(None) if getattr(column.dt, "tz", None) else column
    dates = np.asarray(naive)
    return (dates - dates.min()) / np.timedelta64(1, "s")
