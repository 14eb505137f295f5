"""Series to forecast: the numeric columns of a table on a regular grid of times."""

import dataclasses
import pathlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .._bounds import check_memory
from .._errors import UserError
from .columns import Column
from .content import IDS, counted
from .grid import Grid, find_grid
from .layout import check_times, find_ids, find_times, named, rows_by_id
from .npz import SERIES, read_arrays, values_of
from .table import DataTable


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
    special = {c.name for c in (ids, times, *known) if c is not None}
    if targets:
        chosen, left_out = [table.column(name, "target") for name in targets], []
    else:
        chosen, left_out = _to_forecast(table, special)
    both = set(targets) & set(covariates)
    if both:
        raise UserError(f"{min(both)!r} is a target too", argument="covariates")
    rows_of = {"": np.arange(len(table))} if ids is None else rows_by_id(ids)
    y = table.numbers(chosen)
    x = table.numbers(known) if known else np.zeros((0, len(table)))
    found = [_record(table, name, rows, y, x, times) for name, rows in rows_of.items()]
    for record in found:
        _check_channels(table, record, chosen)
    parts = [
        f"{table.summary}: {counted(len(found), 'series')[:-1] if len(found) > 1 else '1 series'}"
    ]
    parts += [f"channels {_names(chosen)}", *left_out]
    parts += [f"time {times.name!r}, {found[0].grid.described()}"] if times else []
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


def _to_forecast(table: DataTable, special: set[str]) -> tuple[list[Column], list[str]]:
    """The columns of numbers, without numbers of the rows and empty columns; and notes on these."""
    free = [c for c in table.columns if c.name not in special and (c.kind == "number" or c.fault)]
    empty = [c for c in free if not (c.has_numbers or c.fault)]
    row_ids = [c for c in (named(table, IDS),) if c in free and all(map(str.isdecimal, c.cells))]
    chosen = [c for c in free if c not in empty and c not in row_ids] or row_ids
    if not chosen:
        raise UserError(f"{table.path}: has no column of numbers; columns: {_names(table.columns)}")
    notes = [f"without values: {_names(empty)}"] if empty else []
    if row_ids and chosen != row_ids:
        notes.append(f"not forecast: row id {row_ids[0].name!r}")
    return chosen, notes


def _names(columns: Sequence[Column]) -> str:
    first = ", ".join(column.name for column in columns[:6])
    return f"{first}, …" if len(columns) > 6 else first


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
        grid, places = find_grid(table, times, rows)
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


def _check_channels(table: DataTable, record: Record, columns: Sequence[Column]) -> None:
    empty = np.isnan(record.values).all(axis=1)
    if empty.any():
        which = f" in series {record.name!r}" if record.name else ""
        name = columns[int(empty.argmax())].name
        raise UserError(f"{table.path}: column {name!r} has no values{which}")


def _placed(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    check_memory(8.0 * len(values) * (places[-1] + 1), "the gaps of the times")
    found = np.full((len(values), places[-1] + 1), np.nan)
    found[:, places] = values
    return found
