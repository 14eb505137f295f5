"""Series to forecast: their shapes, gaps, scales and windows, all causal."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .._checks import check_real
from .._errors import UserError
from ._filling import forward_filled


class Histories(NamedTuple):
    """One row per channel of each series, padded at the end.

    - `values`: without gaps: a missing value repeats the one before it.
    - `observed`: False at missing values and at padding.
    - `covariates`: per row; longer than the values where their future is known.
    - `lengths`: number of steps of each row.
    """

    values: Float[np.ndarray, "rows time"]
    observed: Bool[np.ndarray, "rows time"]
    covariates: Float[np.ndarray, "rows longer covariates"]
    lengths: np.ndarray


class Layout(NamedTuple):
    """How rows are arranged for the user: number of axes (0: a list), and channels per series."""

    axes: int
    channels: int
    series: int

    def arranged(self, rows: np.ndarray) -> Any:
        """Rows (rows, *rest) in the shape of the series that were given."""
        if self.axes == 1:
            return rows[0]
        if self.axes == 2:
            return rows
        return rows.reshape(self.series, self.channels, *rows.shape[1:])


def read_histories(y: Any, X: Any = None, *, continued: bool = False) -> tuple[Histories, Layout]:
    """Validate series (time,), (series, time), (series, channels, time) or a list of such.

    `X` are covariates (covariates, time) for all series, or (series, covariates, time). The values
    of a row may all be missing if they continue earlier ones; they are then NaN here.
    """
    series, layout = _series(y)
    lengths = np.array([one.shape[1] for one in series for _ in one])
    values = np.full((len(lengths), lengths.max()), np.nan)
    for row, channel in enumerate(channel for one in series for channel in one):
        values[row, : len(channel)] = channel
    observed = ~np.isnan(values)
    if not continued and not observed.any(axis=1).all():
        row = int((~observed.any(axis=1)).argmax())
        raise UserError(f"series {row // layout.channels} has no values", argument="y")
    return Histories(_filled(values), observed, covariates_of(X, layout), lengths), layout


def _series(y: Any) -> tuple[list[np.ndarray], Layout]:
    if isinstance(y, list | tuple) and len(y) and np.ndim(y[0]):
        found = [check_real("y", one, missing=True) for one in y]
        found = [one[None] if one.ndim == 1 else one for one in found]
        if any(one.ndim != 2 or one.shape[0] != found[0].shape[0] for one in found):
            raise UserError("must have series with the same number of channels", argument="y")
        layout = Layout(0, len(found[0]), len(found))
    else:
        array = check_real("y", y, missing=True)
        if array.ndim not in (1, 2, 3):
            raise UserError(
                "must have the shape (time,), (series, time) or (series, channels, time), got "
                f"{array.shape}",
                argument="y",
            )
        shaped = array.reshape((1,) * (2 - array.ndim) + array.shape) if array.ndim < 3 else array
        shaped = shaped[:, None] if array.ndim < 3 else shaped
        found, layout = list(shaped), Layout(array.ndim, shaped.shape[1], len(shaped))
    if not found or min(min(one.shape) for one in found) == 0:
        raise UserError("must not be empty", argument="y")
    return found, layout


def covariates_of(X: Any, layout: Layout) -> Float[np.ndarray, "rows time covariates"]:
    """Covariates of each row, (rows, time, covariates); none where `X` is None."""
    rows = layout.series * layout.channels
    if X is None:
        return np.zeros((rows, 0, 0))
    array = check_real("X", X, missing=True)
    array = np.broadcast_to(array, (layout.series, *array.shape)) if array.ndim == 2 else array
    if array.ndim != 3 or len(array) != layout.series or 0 in array.shape:
        raise UserError(
            "must have the shape (covariates, time) or (series, covariates, time), got "
            f"{np.shape(X)}",
            argument="X",
        )
    if np.isnan(array).any():
        raise UserError("must be complete: covariates are known in advance, got NaN", argument="X")
    return np.repeat(array.transpose(0, 2, 1), layout.channels, axis=0)


def _filled(values: Float[np.ndarray, "rows time"]) -> Float[np.ndarray, "rows time"]:
    """Missing values repeat the one before, those at the start the first one."""
    first = (~np.isnan(values)).argmax(axis=1)
    return forward_filled(values.T, values[np.arange(len(values)), first]).T


def extended(values: Float[np.ndarray, "rows time"], lags: int) -> Float[np.ndarray, "rows longer"]:
    """With `lags` repetitions of the first value in front: a window before every origin."""
    return np.concatenate([np.repeat(values[:, :1], lags, axis=1), values], axis=1)


def local_scale(padded: Float[np.ndarray, "rows longer"], lags: int) -> np.ndarray:
    """Mean and deviation of the last `lags` values at each step: (2, rows, time).

    `padded` begins with `lags` values before the first step.
    """
    shift = padded[:, :1]  # sums of squares lose digits far from zero
    sums = np.cumsum(np.pad(padded - shift, ((0, 0), (1, 0))), axis=1)
    squares = np.cumsum(np.pad((padded - shift) ** 2, ((0, 0), (1, 0))), axis=1)
    mean = (sums[:, lags:] - sums[:, :-lags])[:, 1:] / lags
    second = (squares[:, lags:] - squares[:, :-lags])[:, 1:] / lags
    variance = second - mean**2
    floor = 1e-10 * np.maximum(second, 0.0)
    return np.stack([mean + shift, np.sqrt(np.where(variance > floor, variance, 0.0))])
