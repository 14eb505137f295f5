"""Columns of a table: numbers, times or text, found from their cells."""

import dataclasses
import datetime
import math
import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from .._errors import UserError
from .content import MISSING

_DATES = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?")
_DAY = 86400.0
_DIGIT = re.compile(r"\d")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d{1,3}(\.\d{3})+(,\d+)?")


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    - `values`: numbers, or seconds since 1970 for times; NaN is missing, and all of a text.
    - `cells`: the text of each cell, without spaces around it.
    - `fault`: first cell that is not a number in a column of numbers; empty if there is none.
    - `format`: of the dates; empty for others.
    """

    name: str
    kind: Literal["number", "time", "text"]
    values: Float[np.ndarray, " rows"]
    cells: Sequence[str]
    fault: str = ""
    format: str = ""

    def is_missing(self, row: int) -> bool:
        return self.cells[row].lower() in MISSING

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
    values = _numbers(cells, comma)
    given = np.array([cell.lower() not in MISSING for cell in cells], bool)
    wrong = given & np.isnan(values)
    if not wrong.any():
        return Column(name, "number", values, cells)
    if found := _times(cells, given):
        return Column(name, "time", found[0], cells, format=found[1])
    row = int(wrong.argmax())
    fault = ""
    if not wrong[given].all():  # some are numbers
        fault = f"{places(row)}, column {name!r}: {cells[row]!r} is not a number"
    return Column(name, "text", np.full(len(cells), np.nan), cells, fault)


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether all numbers among the cells are written with a comma, and one has a fraction."""
    given = [cell for cell in cells if _DIGIT.search(cell) and _number(cell, True) is not None]
    return any("," in cell and _DECIMAL_COMMA.fullmatch(cell) for cell in given) and all(
        "." not in cell or _DECIMAL_COMMA.fullmatch(cell) for cell in given
    )


def is_value(cell: str) -> bool:
    """Whether a cell is a number, a date or missing: not a name."""
    return (
        cell.lower() in MISSING
        or _number(cell, True) is not None
        or _times([cell], np.ones(1, bool)) is not None
    )


def _number(cell: str, comma: bool) -> float | None:
    try:
        return float(cell)
    except ValueError:
        pass
    if comma and _DECIMAL_COMMA.fullmatch(cell):
        return float(cell.replace(".", "").replace(",", "."))
    return None


def _numbers(cells: Sequence[str], comma: bool) -> Float[np.ndarray, " rows"]:
    """The cells as numbers; NaN for others."""
    if not comma:
        try:
            return np.array(cells, dtype=np.float64)
        except ValueError:
            pass
    found = (_number(cell, comma) for cell in cells)
    return np.array([math.nan if one is None else one for one in found], float)


def _times(
    cells: Sequence[str], given: np.ndarray
) -> tuple[Float[np.ndarray, " rows"], str] | None:
    """Seconds since 1970 and the format, if all given cells are dates in one format."""
    some = [cell for cell, there in zip(cells, given, strict=True) if there]
    if not some or not all(_DIGIT.match(cell) for cell in some[:1]):
        return None
    for name in ("ISO 8601", *(date + clock for date in _DATES for clock in _CLOCKS)):
        # The first cell decides against most formats.
        if _seconds(some[0], name) is None:
            continue
        known = {cell: _seconds(cell, name) for cell in set(some)}  # dates may repeat in many rows
        if None not in known.values():
            pairs = zip(cells, given, strict=True)
            found = [known[cell] if there else math.nan for cell, there in pairs]
            return np.array(found, float), name
    return None


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


def _seconds(cell: str, name: str) -> float | None:
    try:
        if name == "ISO 8601":
            found = datetime.datetime.fromisoformat(cell)
        else:
            found = datetime.datetime.strptime(cell, name)
    except ValueError:
        return None
    if found.tzinfo is None:  # the zone of the machine must not matter
        found = found.replace(tzinfo=datetime.UTC)
    return found.timestamp()
