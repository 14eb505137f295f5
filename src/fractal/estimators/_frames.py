"""Series to forecast in data frames of pandas, whose rows are steps of time."""

from typing import Any

import numpy as np
from jaxtyping import Float

from .._errors import UserError
from ._tables import ID, TIME, is_frame, long_table, numbers_of


def series_of(y: Any) -> tuple[Any, list[Any] | None]:
    """Series as `read_histories` takes them, and their ids if they are those of a long table.

    The columns of a data frame are the channels of one series; a column `time` orders its rows. A
    long table, with the columns `id` and `time`, has several series, in the order of their first
    rows. Anything else is returned as it is.
    """
    if not is_frame(y):
        frames = isinstance(y, list | tuple) and any(is_frame(one) for one in y)
        return [_channels(one, "y") if is_frame(one) else one for one in y] if frames else y, None
    if TIME not in y.columns:
        return _channels(y, "y")[None], None
    ids, values, _ = long_table(y if ID in y.columns else y.assign(**{ID: 0}), "y")
    return [one.T for one in values], ids.tolist() if ID in y.columns else None


def covariates_in(X: Any) -> Any:
    """Covariates (covariates, time) of a data frame; anything else is returned as it is."""
    return _channels(X, "X") if is_frame(X) else X


def in_order(series: Any, ids: list[Any] | None, expected: list[Any] | None) -> Any:
    """Series of a long table in the order of the ids of `fit`."""
    if ids is None or expected is None:
        return series
    if set(ids) != set(expected):
        other = sorted(set(ids) ^ set(expected), key=str)[0]
        raise UserError(f"must have the ids of fit, all and no others: {other!r:.40}", argument="y")
    return [series[ids.index(one)] for one in expected]


def _channels(frame: Any, argument: str) -> Float[np.ndarray, "channels time"]:
    """The columns of a data frame whose rows are in the order of time."""
    for name in (ID, TIME):
        if name in frame.columns:
            raise UserError(
                f"must have values only in its columns, got a column {name!r}", argument=argument
            )
    index = frame.index
    if index.nlevels > 1:
        raise UserError(
            f"must have one index: call reset_index, and name columns {ID!r} and {TIME!r}",
            argument=argument,
        )
    if index.dtype.kind in "iufM" and not index.is_monotonic_increasing:
        raise UserError("must have its rows in the order of time: sort_index", argument=argument)
    if not len(frame.columns):
        raise UserError("must not be empty", argument=argument)
    return np.stack([numbers_of(column, argument) for _, column in frame.items()])
