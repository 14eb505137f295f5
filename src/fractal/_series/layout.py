"""Cases in a table: wide, one case per row; or long, one sample per row with an id."""

import re
from collections.abc import Collection

import numpy as np

from .._errors import UserError
from .columns import Column, as_dates
from .content import (
    IDS,
    LABELS,
    MISSING,
    NO_LABEL,
    TIMES,
    Cases,
    TrainedOn,
    described,
    label_text,
    regular_interval,
    shown,
)
from .table import DataTable

_GENERIC = re.compile(r"(channel|column) \d+|value")  # channels of files without their names


def cases_of(
    table: DataTable,
    target: str | None = None,
    identity: str | None = None,
    time: str | None = None,
    *,
    trained: TrainedOn | None = None,
    labeled: bool = True,
) -> Cases:
    """The cases of a table.

    **Arguments:**

    - `target`, `identity`, `time`: columns of the label, the id and the time; where they are None,
      those of the training set, or found by their names.
    - `trained`: of the model that the cases are for.
    - `labeled`: whether all cases must have a label.
    """
    before = trained or TrainedOn(0, frozenset())
    ids = find_ids(table, identity or _there(table, before.identity))
    if ids is not None:
        return _long(table, ids, target, time or _there(table, before.time), trained, labeled)
    if time is not None:
        raise UserError(f"{table.path}: --time needs an id column, one sample per row")
    return _wide(table, target, trained, labeled)


def _there(table: DataTable, name: str | None) -> str | None:
    return name if table.header and name in table.names else None


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
        return as_dates(column)
    free = [column for column in table.columns if column.name not in taken]
    dates = [column for column in free if column.kind == "time"]
    column = dates[0] if dates else named(table, TIMES)
    return as_dates(column) if column is not None and column.name not in taken else None


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
            f"{shown(times.cells[row])} is not later than that of the sample before"
        )


def _wide(table: DataTable, target: str | None, trained: TrainedOn | None, labeled: bool) -> Cases:
    label = _wide_label(table, target, trained, labeled)
    identity = named(table, IDS)
    special = [column for column in (label, identity) if column is not None]
    others = [column for column in table.columns if column not in special]
    texts = [column for column in others if column.kind == "text" and not column.fault]
    columns = [column for column in others if column.kind != "text" or column.fault]
    if not columns:
        names = ", ".join(repr(column.name) for column in special or others)
        raise UserError(f"{table.path}: has no columns of values besides {names}")
    values = table.numbers(columns).T
    ends = _ends(table, values)
    series = [row[None, :end] for row, end in zip(values, ends.tolist(), strict=True)]
    labels = None if label is None else _labels(table, label, np.arange(len(table)), labeled)
    if labels is not None and not any(labels):
        labels = None
    parts = [
        "one case per row",
        "no label" if label is None or labels is None else f"label in column {label.name!r}",
        *([f"without the text in {', '.join(repr(c.name) for c in texts)}"] if texts else []),
    ]
    return Cases(
        series,
        labels,
        None,
        None,
        ["value"],
        f"{table.summary}: {', '.join(parts)}; {described(series)}",
        None if identity is None else [str(cell) for cell in identity.cells],
        target=_name(table, label),
    )


def _name(table: DataTable, column: Column | None) -> str | None:
    return column.name if column is not None and table.header else None


def _wide_label(
    table: DataTable, target: str | None, trained: TrainedOn | None, labeled: bool
) -> Column | None:
    """The column given, or with the name of a label; else a column of text, else the first one.

    Without a header the first column is the label, as in the files of the UCR archive. Where labels
    are not needed, a column of text must have classes of the model.
    """
    found = _named_label(table, target, trained)
    texts = [c for c in table.columns if c.kind == "text" and not c.fault]
    if found is None and len(texts) == 1 and (labeled or _has_classes(texts[0], trained)):
        found = texts[0]
    if found is None and not table.header and (labeled or _begins_with_label(table, trained)):
        found = table.columns[0]
    if found is None and labeled:
        names = ", ".join(table.names[:8])
        raise UserError(
            f"{table.path}: choose the column of the label with --target: {names}"
            + (", …" if len(table.names) > 8 else "")
        )
    return found


def _named_label(table: DataTable, target: str | None, trained: TrainedOn | None) -> Column | None:
    """The column given, else that of the training set, else one with the name of a label."""
    if target is not None:
        return table.column(target, "target")
    before = [] if trained is None else [c for c in table.columns if c.name == trained.target]
    found = before[0] if before else named(table, LABELS)
    is_channel = trained is not None and found is not None and found.name in trained.channels
    return None if is_channel else found


def _has_classes(column: Column, trained: TrainedOn | None) -> bool:
    return trained is not None and trained.classes.issuperset(map(label_text, column.cells))


def _begins_with_label(table: DataTable, trained: TrainedOn | None) -> bool:
    """Whether there is one column more than steps in `fit`, or the first has classes only."""
    more = 0 if trained is None else len(table.columns) - trained.steps
    return more == 1 or (more != 0 and _has_classes(table.columns[0], trained))


def _long(
    table: DataTable,
    ids: Column,
    target: str | None,
    time: str | None,
    trained: TrainedOn | None,
    labeled: bool,
) -> Cases:
    label = _named_label(table, target, trained)
    if label is None and labeled:
        raise UserError(
            f"{table.path}: choose the column of the label with --target: "
            f"{', '.join(name for name in table.names if name != ids.name)}"
        )
    times = find_times(table, time, {ids.name} | ({label.name} if label else set()))
    special = {column.name for column in (ids, label, times) if column is not None}
    columns = [column for column in table.columns if column.name not in special]
    if not columns:
        raise UserError(f"{table.path}: has no columns of values")
    columns = _as_trained(table, columns, trained)
    values = table.numbers(columns)
    series, labels, ends = [], [], []
    for rows in rows_by_id(ids).values():
        if times is not None:
            check_times(table, times, rows)
            ends.append(times.values[rows])
        if label is not None:
            labels.append(_one_label(table, label, rows, labeled))
        series.append(values[:, rows])
    interval = regular_interval(ends)
    parts = [f"id {ids.name!r}", *([f"time {times.name!r}"] if times else [])]
    parts += [f"label {label.name!r}"] if label and any(labels) else []
    summary = f"{table.summary}: one sample per row, {', '.join(parts)}; {described(series)}"
    return Cases(
        series,
        labels if any(labels) else None,
        None,
        None if interval is not None or times is None else ends,
        [column.name for column in columns],
        summary,
        list(rows_by_id(ids)),
        interval,
        times is not None and times.kind == "time",
        _name(table, label),
        _name(table, ids),
        _name(table, times),
    )


def _as_trained(table: DataTable, columns: list[Column], trained: TrainedOn | None) -> list[Column]:
    """The columns of the channels of the training set, in its order; all where it has no names."""
    wanted = () if trained is None or not table.header else trained.channels
    if not wanted or all(map(_GENERIC.fullmatch, wanted)):
        return columns
    found = {column.name: column for column in columns}
    missing = [name for name in wanted if name not in found]
    if missing:
        raise UserError(
            f"{table.path}: has no column {missing[0]!r}; the channels of the training set are "
            f"{', '.join(wanted)}: rename the columns"
        )
    return [found[name] for name in wanted]


def rows_by_id(ids: Column) -> dict[str, np.ndarray]:
    """The rows of each id, in the order of the file."""
    found: dict[str, list[int]] = {}
    for row, cell in enumerate(ids.cells):
        found.setdefault(cell, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def _labels(table: DataTable, label: Column, rows: np.ndarray, labeled: bool) -> list[str]:
    """The labels of some rows; empty for a row without one, unless all must be labeled."""
    numeric = label.has_numbers
    found = []
    for row in rows.tolist():
        cell = str(label.cells[row])
        # NA may be a class, but not a number.
        missing = cell in NO_LABEL or (numeric and cell.lower() in MISSING)
        if missing and labeled:
            raise UserError(
                f"{table.path}, {table.place(row)}, column {label.name!r}: has no label"
            )
        found.append("" if missing else label_text(cell) if numeric else cell)
    return found


def _one_label(table: DataTable, label: Column, rows: np.ndarray, labeled: bool) -> str:
    """The label that all rows of a case have."""
    first, *rest = _labels(table, label, rows, labeled)
    for row, other in zip(rows[1:].tolist(), rest, strict=True):
        if other != first:
            raise UserError(
                f"{table.path}, {table.place(row)}, column {label.name!r}: the label "
                f"{shown(other)} differs from {shown(first)} of the same case"
            )
    return first


def _ends(table: DataTable, values: np.ndarray) -> np.ndarray:
    """Number of steps of each row before the missing values at its end."""
    there = ~np.isnan(values)
    if not there.any(axis=1).all():
        row = int((~there.any(axis=1)).argmax())
        raise UserError(f"{table.path}, {table.place(row)}: has no values")
    return values.shape[1] - there[:, ::-1].argmax(axis=1)
