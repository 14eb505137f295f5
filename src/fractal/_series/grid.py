"""Regular grids of times: found from the times of a file, and continued as text."""

import calendar
import dataclasses
import datetime
from typing import Literal

import numpy as np

from .._errors import UserError
from .columns import Column
from .content import shown
from .table import DataTable

_MOST_GAPS = 50  # times as many steps as samples: a wrong date, not a gap
_MOST_DECIMALS = 9
_OFF_GRID = 0.01  # steps by which a time may differ from the grid
_FEWEST_UNITS = 5  # of the last digit per step, where times are rounded
_FEWEST_ROUNDED = 10  # times from which a rounded grid is told from an irregular one
_DAY = 86400.0
_EPOCH = datetime.datetime(1970, 1, 1)

Unit = Literal["second", "month", "month end", "number"]


@dataclasses.dataclass(frozen=True)
class Grid:
    """Regular times: `start` + `step`·k, in seconds, in months, or in the numbers of the file.

    - `unit`: of the unit "month end" are the last days of months.
    - `decimals`: digits of the times after the decimal point.
    - `zone`: added to times of day; such as +02:00.
    """

    start: float
    step: float
    unit: Unit
    decimals: int = 0
    zone: str = ""

    def labels(self, first: int, count: int) -> list[str]:
        """The times number first, first + 1, … as text."""
        return [self._label(index) for index in range(first, first + count)]

    def _label(self, index: int) -> str:
        if self.unit == "number":
            return f"{round(self.start + self.step * index, self.decimals):.15g}"
        start = _date(self.start)
        if self.unit == "second":
            time = _date(round(self.start + self.step * index, self.decimals))
        else:
            months = start.year * 12 + start.month - 1 + round(self.step) * index
            year, month = months // 12, months % 12 + 1
            last = calendar.monthrange(year, month)[1]
            day = last if self.unit == "month end" else min(start.day, last)
            time = start.replace(year=year, month=month, day=day)
        if self.unit != "second" or (self.step % _DAY == 0 and self.start % _DAY == 0):
            return time.strftime("%Y-%m-%d")
        digits = 0 if self.decimals == 0 else 3 if self.decimals <= 3 else 6
        fraction = f".{time.microsecond:06}"[: digits + 1] if digits else ""
        return f"{time:%Y-%m-%d %H:%M:%S}{fraction}{self.zone}"

    def described(self) -> str:
        if self.unit == "second":
            step = datetime.timedelta(seconds=round(self.step, 6))
            return f"a step of {step}"
        plural = "" if self.step == 1 or self.unit == "number" else "s"
        return f"a step of {self.step:g}" + ("" if self.unit == "number" else f" month{plural}")


def find_grid(table: DataTable, times: Column, rows: np.ndarray) -> tuple[Grid, np.ndarray]:
    """The grid of the times of some rows, and the place of each on it."""
    values = times.values[rows]
    unit: Unit = "second" if times.kind == "time" else "number"
    decimals = _decimals(values)
    steps, counts = np.unique(np.round(np.diff(values), decimals), return_counts=True)
    # The most frequent step, of equal ones the smallest.
    step = float(steps[counts.argmax()]) or float(np.diff(values).min())
    if unit == "second" and step >= 27 * _DAY and (found := _months(values)) is not None:
        unit, months = found
        step = float(np.gcd.reduce(np.diff(months)))
        places = (months - months[0]) / step
    else:
        places = (values - values[0]) / step
        if _off(places).any() and (rounded := _rounded_grid(values, step, 10.0**-decimals)):
            step, places = rounded
    grid = Grid(float(values[0]), step, unit, decimals, times.zone)
    whole = np.round(places)
    off = _off(places)
    if off.any() or (np.diff(whole) <= 0).any():
        row = int(rows[off.argmax() if off.any() else (np.diff(whole) <= 0).argmax() + 1])
        raise UserError(
            f"{table.path}, {table.place(row)}, column {times.name!r}: {shown(times.cells[row])} "
            f"is not on a regular grid, {grid.described()}"
        )
    if whole[-1] > _MOST_GAPS * len(rows):
        row = int(rows[np.diff(whole).argmax() + 1])
        raise UserError(
            f"{table.path}, {table.place(row)}, column {times.name!r}: a gap of "
            f"{np.diff(whole).max():,.0f} steps"
        )
    return grid, whole.astype(int)


def _off(places: np.ndarray) -> np.ndarray:
    return np.abs(places - np.round(places)) > _OFF_GRID


def _decimals(values: np.ndarray) -> int:
    """Digits after the decimal point with which all values are written, at most 9."""
    rounding = 4 * np.finfo(float).eps * np.abs(values).max()
    for digits in range(_MOST_DECIMALS):
        if (np.abs(np.round(values, digits) - values) <= rounding).all():
            return digits
    return _MOST_DECIMALS


def _rounded_grid(
    values: np.ndarray, step: float, resolution: float
) -> tuple[float, np.ndarray] | None:
    """Step and places of times that are rounded, as those at 30 Hz in milliseconds are.

    Differences then vary by the resolution, about a step that is not a multiple of it.
    """
    if step < _FEWEST_UNITS * resolution or len(values) < _FEWEST_ROUNDED:
        return None
    gaps = np.diff(values)
    mean = gaps[np.abs(gaps - step) < 1.01 * resolution].mean()
    places = np.concatenate([[0.0], np.round(gaps / mean).cumsum()])
    slope, offset = np.polyfit(places, values - values[0], 1)
    error = np.abs(values - values[0] - offset - slope * places)
    return (float(slope), places) if (error < 0.6 * resolution).all() else None


def _months(values: np.ndarray) -> tuple[Unit, np.ndarray] | None:
    """Months since year 0, if all times are on the same day of their months, or on the last."""
    days = [_date(value) for value in values]
    months = np.array([day.year * 12 + day.month for day in days])
    if len({day.day for day in days}) == 1:
        return "month", months
    last = all((day + datetime.timedelta(days=1)).day == 1 for day in days)
    return ("month end", months) if last else None


def _date(seconds: float) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=seconds)
