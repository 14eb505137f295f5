"""Columns of a table: numbers, times or text, found from their cells."""

import dataclasses
import datetime
import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from .._errors import UserError
from .content import MISSING, shown

_DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?")
_DAY = 86400.0
_DIGIT = re.compile(r"\d")
_COMPACT = re.compile(r"(18|19|20|21)\d{6}")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
"""A number with a decimal comma, with or without points between thousands."""


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    - `values`: numbers, or seconds since 1970 for times, in local time if they have a zone; NaN is
      missing, and all of a text.
    - `cells`: the text of each cell, without spaces around it; numbers have a decimal point.
    - `fault`: first cell that is not a number in a column of numbers; empty if there is none.
    - `format`: of the dates; empty for others.
    - `zone`: of the last time, such as +02:00; empty without one.
    """

    name: str
    kind: Literal["number", "time", "text"]
    values: Float[np.ndarray, " rows"]
    cells: Sequence[str]
    fault: str = ""
    format: str = ""
    zone: str = ""

    @functools.cached_property
    def has_numbers(self) -> bool:
        """Whether there is a number, not only missing values."""
        return self.kind == "number" and not bool(np.isnan(self.values).all())

    def numbers(self, where: str) -> Float[np.ndarray, " rows"]:
        """The values of a column that must be numeric; UserError names the first wrong cell."""
        if self.kind == "number":
            return self.values
        why = self.fault or f"column {self.name!r} has no numbers"
        raise UserError(f"{where}, {why}")


def make_column(
    name: str, cells: Sequence[str], places: Callable[[int], str], comma: bool = False
) -> Column:
    """A column from its cells.

    **Arguments:**

    - `places`: the name of a row for errors.
    - `comma`: whether numbers are written with a decimal comma.
    """
    plain = [_plain(cell) for cell in cells] if comma else cells
    values = _numbers(plain)
    given = np.array([cell.lower() not in MISSING for cell in cells], bool)
    wrong = given & np.isnan(values)
    if not wrong.any():
        return Column(name, "number", values, plain)
    if found := _times(cells, given):
        return Column(name, "time", found[0], cells, "", *found[1:])
    row = int(wrong.argmax())
    fault = ""
    if not wrong[given].all():  # some are numbers
        fault = f"{places(row)}, column {name!r}: {shown(cells[row])} is not a number"
    return Column(name, "text", np.full(len(cells), np.nan), cells, fault)


def is_value(cell: str) -> bool:
    """Whether a cell is a number, a date or missing: not a name."""
    return (
        cell.lower() in MISSING
        or number_of(cell) is not None
        or _times([cell], np.ones(1, bool)) is not None
    )


def number_of(cell: str) -> float | None:
    """The number in a cell, with a decimal point or comma; None if it is none."""
    try:
        return float(_plain(cell))
    except ValueError:
        return None


def _plain(cell: str) -> str:
    """A number with a decimal comma as one with a decimal point; other cells as they are."""
    return cell.replace(".", "").replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell


def _numbers(cells: Sequence[str]) -> Float[np.ndarray, " rows"]:
    """The cells as numbers; NaN for others."""
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array([_number(cell) for cell in cells], float)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def as_dates(column: Column) -> Column:
    """A column that serves as time: of dates, if all its numbers are written as YYYYMMDD."""
    given = np.array([cell.lower() not in MISSING for cell in column.cells], bool)
    some = [cell for cell, there in zip(column.cells, given, strict=True) if there]
    if column.kind != "number" or not all(map(_COMPACT.fullmatch, some)):
        return column
    found = _times(column.cells, given)
    return Column(column.name, "time", found[0], column.cells, "", *found[1:]) if found else column


def _times(
    cells: Sequence[str], given: np.ndarray
) -> tuple[Float[np.ndarray, " rows"], str, str] | None:
    """Seconds since 1970, format and zone, if all given cells are dates in one format."""
    some = [cell for cell, there in zip(cells, given, strict=True) if there]
    if not some or not all(_DIGIT.match(cell) for cell in some[:1]):
        return None
    for name in ("ISO 8601", *(date + clock for date in _DATES for clock in _CLOCKS)):
        # The first cell decides against most formats.
        if _date(some[0], name) is None:
            continue
        read = {cell: _date(cell, name) for cell in set(some)}  # dates may repeat in many rows
        dates = {cell: date for cell, date in read.items() if date is not None}
        if len(dates) == len(read):
            seconds, zone = _local_seconds(dates, dates[some[-1]])
            pairs = zip(cells, given, strict=True)
            found = [seconds[cell] if there else math.nan for cell, there in pairs]
            return np.array(found, float), name, zone
    return None


def _local_seconds(
    dates: dict[str, datetime.datetime], last: datetime.datetime
) -> tuple[dict[str, float], str]:
    """Seconds since 1970 of each cell in the zone of the last date, and this zone.

    Dates at the same time of day, as days and months are, keep their own local time: there a change
    to summer time is no irregular step.
    """
    days = len({date.time() for date in dates.values()}) == 1
    zone = last.utcoffset()

    def seconds(date: datetime.datetime) -> float:
        own = date.utcoffset()
        if not (days or zone is None or own is None):
            date += zone - own
        return (date.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)).total_seconds()

    return (
        {cell: seconds(date) for cell, date in dates.items()},
        "" if zone is None else last.isoformat()[-6:],
    )


def with_clock_times(columns: Sequence[Column]) -> list[Column]:
    """The columns; a column of days and a column of times of day beside it become one."""
    found: list[Column] = []
    for column in columns:
        day = found[-1] if found else None
        if day is None or not _has_days(day) or (clock := _clock_times(column)) is None:
            found.append(column)
            continue
        pairs = zip(day.cells, column.cells, strict=True)
        cells = [f"{one} {other}" for one, other in pairs]
        name, form = f"{day.name} {column.name}", f"{day.format} and hours:minutes"
        found[-1] = Column(name, "time", day.values + clock, cells, format=form)
    return found


def _has_days(column: Column) -> bool:
    """Whether all times of a column are midnight."""
    return column.kind == "time" and not bool((column.values % _DAY > 0).any())


def _clock_times(column: Column) -> Float[np.ndarray, " rows"] | None:
    """Seconds since midnight, if all cells are hours and minutes, and perhaps seconds."""
    if column.kind != "text" or not _CLOCK.fullmatch(column.cells[0]):
        return None
    if not all(_CLOCK.fullmatch(cell) for cell in set(column.cells)):
        return None
    known = {cell: _since_midnight(cell) for cell in set(column.cells)}
    return np.array([known[cell] for cell in column.cells])


def _since_midnight(cell: str) -> float:
    hours, minutes, *seconds = cell.split(":")
    return 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds[0] if seconds else 0)


def _date(cell: str, name: str) -> datetime.datetime | None:
    try:
        if name == "ISO 8601":
            return datetime.datetime.fromisoformat(cell)
        return datetime.datetime.strptime(cell, name)
    except ValueError:
        return None
