"""Cases in a table: wide, one case per row; or long, one sample per row with an id."""

from collections.abc import Collection

import numpy as np

from .._errors import UserError
from .columns import Column
from .content import Cases, TrainedOn, described
from .table import DataTable, is_regular

_LABELS = ("label", "class", "target", "y", "category")
IDS = ("id", "case", "case_id", "series", "series_id", "unique_id", "case id", "series id")
TIMES = ("time", "t", "timestamp", "date", "datetime", "ds", "step", "timepoint")


def cases_of(
    table: DataTable,
    target: str | None = None,
    identity: str | None = None,
    time: str | None = None,
    *,
    trained: TrainedOn | None = None,
) -> Cases:
    """The cases of a table.

    **Arguments:**

    - `target`, `identity`, `time`: columns of the label, the id and the time; found by their names
      where they are None.
    - `trained`: of the model that the cases are for; without it there must be a label.
    """
    ids = find_ids(table, identity)
    if ids is not None:
        return _long(table, ids, target, time, trained is None)
    if time is not None:
        raise UserError(f"{table.path}: --time needs an id column, one sample per row")
    return _wide(table, target, trained)


def find_ids(table: DataTable, given: str | None) -> Column | None:
    """The column given, or one with the name of an id whose values repeat."""
    if given is not None:
        return table.column(given, "id")
    found = named(table, IDS)
    repeats = found is not None and len(set(found.cells)) < len(found.cells)
    return found if repeats else None


def find_times(table: DataTable, given: str | None, taken: Collection[str] = ()) -> Column | None:
    """The column given, else the first of dates, else one with the name of a time."""
    if given is not None:
        column = table.column(given, "time")
        if column.kind == "text":
            raise UserError(f"{table.path}: column {given!r} has no times", argument="time")
        return column
    free = [column for column in table.columns if column.name not in taken]
    dates = [column for column in free if column.kind == "time"]
    column = dates[0] if dates else named(table, TIMES)
    return column if column is not None and column.name not in taken else None


def named(table: DataTable, names: Collection[str]) -> Column | None:
    """The column of the first of the names that there is, in upper or lower case."""
    columns = {column.name.lower(): column for column in reversed(table.columns)}
    return next((columns[name] for name in names if name in columns), None)


def check_times(table: DataTable, times: Column, rows: np.ndarray) -> None:
    """Raise `UserError` unless the times of some rows, in this order, increase."""
    values = times.values[rows]
    if np.isnan(values).any():
        row = int(rows[np.isnan(values).argmax()])
        raise UserError(f"{table.path}, {table.place(row)}, column {times.name!r}: has no time")
    wrong = np.diff(values) <= 0
    if wrong.any():
        row = int(rows[wrong.argmax() + 1])
        raise UserError(
            f"{table.path}, {table.place(row)}, column {times.name!r}: the time "
            f"{times.cells[row]!r} is not later than that of the sample before"
        )


def _wide(table: DataTable, target: str | None, trained: TrainedOn | None) -> Cases:
    label = _wide_label(table, target, trained)
    identity = named(table, IDS)
    left_out = [column for column in (label, identity) if column is not None]
    columns = [column for column in table.columns if column not in left_out]
    if not columns:
        raise UserError(f"{table.path}: has no columns of values besides {left_out[0].name!r}")
    values = np.stack([column.numbers(str(table.path)) for column in columns], axis=1)
    _check_finite(table, columns, values)
    ends = _ends(table, values)
    series = [row[None, :end] for row, end in zip(values, ends.tolist(), strict=True)]
    labels = None if label is None else _labels(table, label, np.arange(len(table)))
    which = ", no label" if label is None else f", label in column {label.name!r}"
    summary = f"{table.summary}: one case per row{which}; {described(series)}"
    ids = None if identity is None else [str(cell) for cell in identity.cells]
    return Cases(series, labels, None, None, ["value"], summary, ids)


def _wide_label(table: DataTable, target: str | None, trained: TrainedOn | None) -> Column | None:
    """The column given, or with the name of a label; else a column of text, else the first one.

    Without a header the first column is the label, as in the files of the UCR archive.
    """
    if target is not None:
        return table.column(target, "target")
    found = named(table, _LABELS)
    texts = [c for c in table.columns if c.kind == "text" and not c.fault]
    if found is None and len(texts) == 1:
        found = texts[0]
    if found is None and not table.header and _begins_with_label(table, trained):
        found = table.columns[0]
    if found is None and trained is None:
        names = ", ".join(table.names[:8])
        raise UserError(
            f"{table.path}: choose the column of the label with --target: {names}"
            + (", …" if len(table.names) > 8 else "")
        )
    return found


def _begins_with_label(table: DataTable, trained: TrainedOn | None) -> bool:
    """Whether the first column has the labels: as always in a training set.

    For a model: if there is one column more than steps in `fit`, or all its cells are classes.
    """
    if trained is None:
        return True
    more = len(table.columns) - trained.steps
    return more == 1 or (more != 0 and trained.classes.issuperset(table.columns[0].cells))


def _long(
    table: DataTable, ids: Column, target: str | None, time: str | None, labeled: bool
) -> Cases:
    label = named(table, _LABELS) if target is None else table.column(target, "target")
    if label is None and labeled:
        raise UserError(
            f"{table.path}: choose the column of the label with --target: "
            f"{', '.join(name for name in table.names if name != ids.name)}"
        )
    times = find_times(table, time, {ids.name} | ({label.name} if label else set()))
    special = [column for column in (ids, label, times) if column is not None]
    columns = [column for column in table.columns if column not in special]
    if not columns:
        raise UserError(f"{table.path}: has no columns of values")
    values = np.stack([column.numbers(str(table.path)) for column in columns])
    _check_finite(table, columns, values.T)
    series, labels, ends = [], [], []
    for rows in rows_by_id(ids).values():
        if times is not None:
            check_times(table, times, rows)
            ends.append(times.values[rows])
        if label is not None:
            labels.append(_one_label(table, label, rows))
        series.append(values[:, rows])
    regular = all(map(is_regular, ends)) and len({_step(one) for one in ends}) <= 1
    parts = [f"id {ids.name!r}", *([f"time {times.name!r}"] if times else [])]
    parts += [f"label {label.name!r}"] if label else []
    summary = f"{table.summary}: one sample per row, {', '.join(parts)}; {described(series)}"
    return Cases(
        series,
        labels if label else None,
        None,
        None if regular or times is None else ends,
        [column.name for column in columns],
        summary,
        list(rows_by_id(ids)),
    )


def rows_by_id(ids: Column) -> dict[str, np.ndarray]:
    """The rows of each id, in the order of the file."""
    found: dict[str, list[int]] = {}
    for row, cell in enumerate(ids.cells):
        found.setdefault(cell, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def _step(times: np.ndarray) -> float:
    return round(float(times[1] - times[0]), 9) if len(times) > 1 else 0.0


def _labels(table: DataTable, label: Column, rows: np.ndarray) -> list[str]:
    for row in rows.tolist():
        if label.is_missing(row):
            raise UserError(
                f"{table.path}, {table.place(row)}, column {label.name!r}: has no label"
            )
    return [str(label.cells[row]) for row in rows.tolist()]


def _one_label(table: DataTable, label: Column, rows: np.ndarray) -> str:
    """The label that all rows of a case have."""
    first, *rest = _labels(table, label, rows)
    for row, other in zip(rows[1:].tolist(), rest, strict=True):
        if other != first:
            raise UserError(
                f"{table.path}, {table.place(row)}, column {label.name!r}: the label {other!r} "
                f"differs from {first!r} of the same case"
            )
    return first


def _ends(table: DataTable, values: np.ndarray) -> np.ndarray:
    """Number of steps of each row before the missing values at its end."""
    there = ~np.isnan(values)
    if not there.any(axis=1).all():
        row = int((~there.any(axis=1)).argmax())
        raise UserError(f"{table.path}, {table.place(row)}: has no values")
    return values.shape[1] - there[:, ::-1].argmax(axis=1)


def _check_finite(table: DataTable, columns: list[Column], values: np.ndarray) -> None:
    if np.isinf(values).any():
        row, index = (int(one[0]) for one in np.nonzero(np.isinf(values)))
        raise UserError(
            f"{table.path}, {table.place(row)}, column {columns[index].name!r}: "
            f"{columns[index].cells[row]!r} is not finite"
        )
