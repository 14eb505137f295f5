"""Series to forecast: the numeric columns of a table on a regular grid of times."""

import calendar
import dataclasses
import datetime
import pathlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from .._bounds import check_memory
from .._errors import UserError
from .columns import Column
from .content import counted
from .layout import check_times, find_ids, find_times, rows_by_id
from .npz import SERIES, read_arrays, values_of
from .table import DataTable

_MOST_GAPS = 50  # times as many steps as samples: a wrong date, not a gap
_DAY = 86400.0

Unit = Literal["second", "month", "month end", "number"]


@dataclasses.dataclass(frozen=True)
class Grid:
    """Regular times: `start` + `step`·k, in seconds, in months, or in the numbers of the file.

    Of the unit "month end" are the last days of months.
    """

    start: float
    step: float
    unit: Unit

    def labels(self, first: int, count: int) -> list[str]:
        """The times number first, first + 1, … as text."""
        return [self._label(index) for index in range(first, first + count)]

    def _label(self, index: int) -> str:
        if self.unit == "number":
            return f"{self.start + self.step * index:.12g}"  # seconds since 1970 have ten digits
        start = datetime.datetime.fromtimestamp(self.start, datetime.UTC)
        months = start.year * 12 + start.month - 1 + round(self.step) * index
        if self.unit == "second":
            time = start + datetime.timedelta(seconds=self.step * index)
        else:
            year, month = months // 12, months % 12 + 1
            last = calendar.monthrange(year, month)[1]
            day = last if self.unit == "month end" else min(start.day, last)
            time = start.replace(year=year, month=month, day=day)
        whole = self.unit != "second" or (self.step % _DAY == 0 and self.start % _DAY == 0)
        return time.strftime("%Y-%m-%d") if whole else time.strftime("%Y-%m-%d %H:%M:%S")


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """One multichannel series, and what is known of its future.

    - `values`: NaN is missing.
    - `covariates`: known in advance, for the times of `values` and later ones; no channels where
      there are none.
    """

    name: str
    values: Float[np.ndarray, "channels time"]
    covariates: Float[np.ndarray, "covariates longer"]
    grid: Grid


@dataclasses.dataclass(frozen=True, eq=False)
class Records:
    """Series with the same channels; `summary` is how the file was read, in one line."""

    records: list[Record]
    channels: list[str]
    covariates: list[str]
    summary: str


def records_of(
    table: DataTable,
    targets: Sequence[str] = (),
    covariates: Sequence[str] = (),
    identity: str | None = None,
    time: str | None = None,
) -> Records:
    """The series of a table with one sample per row, oldest first.

    **Arguments:**

    - `targets`: columns to forecast; all numeric ones by default.
    - `covariates`: columns known in advance; rows at the end without targets are the future.
    - `identity`, `time`: columns of the id and the time; found by their names where they are None.
    """
    ids = find_ids(table, identity)
    known = [table.column(name, "covariates") for name in covariates]
    times = find_times(table, time, {*([ids.name] if ids else []), *targets, *covariates})
    if targets:
        chosen = [table.column(name, "target") for name in targets]
    else:
        special = [c for c in (ids, times, *known) if c is not None]
        chosen = [c for c in table.columns if c not in special and (c.kind == "number" or c.fault)]
    if not chosen:
        raise UserError(f"{table.path}: has no column of numbers; columns: {_names(table.columns)}")
    both = set(targets) & set(covariates)
    if both:
        raise UserError(f"{min(both)!r} is a target too", argument="covariates")
    rows_of = {"": np.arange(len(table))} if ids is None else rows_by_id(ids)
    y = _finite(table, chosen)
    x = _finite(table, known) if known else np.zeros((0, len(table)))
    found = [_record(table, name, rows, y, x, times) for name, rows in rows_of.items()]
    parts = [
        f"{table.summary}: {counted(len(found), 'series')[:-1] if len(found) > 1 else '1 series'}"
    ]
    parts.append(f"channels {_names(chosen)}")
    parts += [f"time {times.name!r}, {_step(found[0].grid)}"] if times else []
    parts += [f"id {ids.name!r}"] if ids else []
    gaps = sum(len(one.values[0]) for one in found) - sum(
        int((~_empty_end(y[:, rows])).sum()) for rows in rows_of.values()
    )
    parts += [f"{counted(gaps, 'missing time')} filled in"] if gaps > 0 else []
    return Records(found, [c.name for c in chosen], [c.name for c in known], ", ".join(parts))


def records_of_npz(path: pathlib.Path) -> Records:
    """The series of an array y or X: (time,), (series, time) or (series, channels, time)."""
    y = values_of(path, read_arrays(path), ("y", *SERIES)).astype(np.float64)
    if y.ndim not in (1, 2, 3) or 0 in y.shape:
        raise UserError(
            f"{path}: y must have the shape (time,), (series, time) or (series, channels, time), "
            f"got {y.shape}"
        )
    if np.isinf(y).any():
        raise UserError(f"{path}: y is not finite at {np.argwhere(np.isinf(y))[0].tolist()}")
    y = y.reshape((1,) * (2 - y.ndim) + y.shape) if y.ndim < 3 else y
    y = y[:, None] if y.ndim == 2 else y
    grid, none = Grid(0.0, 1.0, "number"), np.zeros((0, y.shape[2]))
    name = [str(index) for index in range(1, len(y) + 1)] if len(y) > 1 else [""]
    found = [Record(one, values, none, grid) for one, values in zip(name, y, strict=True)]
    channels = [f"channel {index}" for index in range(1, y.shape[1] + 1)]
    return Records(found, channels, [], f"{len(y)} series of {y.shape[2]:,} steps")


def _names(columns: Sequence[Column]) -> str:
    shown = ", ".join(column.name for column in columns[:6])
    return f"{shown}, …" if len(columns) > 6 else shown


def _step(grid: Grid) -> str:
    if grid.unit == "second":
        return f"a step of {datetime.timedelta(seconds=grid.step)}"
    plural = "" if grid.step == 1 or grid.unit == "number" else "s"
    return f"a step of {grid.step:g}" + ("" if grid.unit == "number" else f" month{plural}")


def _finite(table: DataTable, columns: Sequence[Column]) -> Float[np.ndarray, "columns rows"]:
    values = np.stack([column.numbers(str(table.path)) for column in columns])
    if np.isinf(values).any():
        index, row = (int(one[0]) for one in np.nonzero(np.isinf(values)))
        raise UserError(
            f"{table.path}, {table.place(row)}, column {columns[index].name!r}: "
            f"{columns[index].cells[row]!r} is not finite"
        )
    return values


def _empty_end(y: np.ndarray) -> np.ndarray:
    """Which rows at the end have no target."""
    missing = np.asarray(np.isnan(y).all(axis=0))
    return np.logical_and.accumulate(missing[::-1])[::-1]


def _record(
    table: DataTable,
    name: str,
    rows: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    times: Column | None,
) -> Record:
    y, x = y[:, rows], x[:, rows]
    grid, places = Grid(0.0, 1.0, "number"), np.arange(len(rows))
    if times is not None and len(rows) > 1:
        check_times(table, times, rows)
        grid, places = _grid(table, times, rows)
        y, x = _placed(y, places), _placed(x, places)
    end = y.shape[1] - int(_empty_end(y).sum())
    if end < 2:
        where = f"{table.path}: series {name!r}" if name else f"{table.path}"
        raise UserError(f"{where} has {counted(end, 'sample')}: at least 2 are needed")
    if np.isnan(x).any():
        column, step = (int(one[0]) for one in np.nonzero(np.isnan(x)))
        raise UserError(
            f"{table.path}: covariate {column + 1} is missing at {grid.labels(step, 1)[0]}; it "
            "must be known at every time",
            argument="covariates",
        )
    return Record(name, y[:, :end], x, grid)


def _grid(table: DataTable, times: Column, rows: np.ndarray) -> tuple[Grid, np.ndarray]:
    """The grid of the times of some rows, and the place of each on it."""
    values = times.values[rows]
    unit: Unit = "second" if times.kind == "time" else "number"
    steps, counts = np.unique(np.round(np.diff(values), 9), return_counts=True)
    step = float(steps[counts.argmax()])  # the most frequent one, of equal ones the smallest
    places = (values - values[0]) / step
    if unit == "second" and step >= 27 * _DAY and (found := _months(values)) is not None:
        unit, months = found
        step = float(np.gcd.reduce(np.diff(months)))
        places = (months - months[0]) / step
    whole = np.round(places)
    off = np.abs(places - whole) > 0.01
    if off.any() or (np.diff(whole) <= 0).any():
        row = int(rows[off.argmax() if off.any() else (np.diff(whole) <= 0).argmax() + 1])
        raise UserError(
            f"{table.path}, {table.place(row)}, column {times.name!r}: {times.cells[row]!r} is not "
            f"on a regular grid, {_step(Grid(0.0, step, unit))}"
        )
    if whole[-1] > _MOST_GAPS * len(rows):
        row = int(rows[np.diff(whole).argmax() + 1])
        raise UserError(
            f"{table.path}, {table.place(row)}, column {times.name!r}: a gap of "
            f"{np.diff(whole).max():,.0f} steps"
        )
    return Grid(float(values[0]), step, unit), whole.astype(int)


def _months(values: np.ndarray) -> tuple[Unit, np.ndarray] | None:
    """Months since year 0, if all times are on the same day of their months, or on the last."""
    days = [datetime.datetime.fromtimestamp(value, datetime.UTC) for value in values]
    months = np.array([day.year * 12 + day.month for day in days])
    if len({day.day for day in days}) == 1:
        return "month", months
    last = all((day + datetime.timedelta(days=1)).day == 1 for day in days)
    return ("month end", months) if last else None


def _placed(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    check_memory(8.0 * len(values) * (places[-1] + 1), "the gaps of the times")
    found = np.full((len(values), places[-1] + 1), np.nan)
    found[:, places] = values
    return found
