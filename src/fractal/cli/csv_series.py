"""Complete numeric columns of a CSV file, for the memory. Errors name the file and the line."""

import dataclasses
import pathlib

import numpy as np
from jaxtyping import Float

from .._errors import UserError
from .._series.columns import Column
from .._series.content import shown
from .._series.table import DataTable, read_csv


@dataclasses.dataclass(frozen=True, eq=False)
class Series:
    """The numeric columns of a file, and the names of the skipped columns of text."""

    names: list[str]
    samples: Float[np.ndarray, "time channels"]
    text: list[str]


def read_series(path: pathlib.Path) -> Series:
    """Read a table with one row per sample, with or without a header.

    A column without numbers, such as dates, is skipped. A numeric column must be complete: a
    missing value, a NaN or a word in it is an error.
    """
    table = read_csv(path)
    if len(table) < 2:
        raise UserError(f"{path} has 1 row of data: a series needs at least 2")
    numeric = [column for column in table.columns if column.kind == "number" or column.fault]
    text = [column.name for column in table.columns if column not in numeric]
    if not numeric:
        raise UserError(f"{path} has no column of numbers; its columns are {', '.join(text)}")
    for column in numeric:
        _check_complete(table, column)
    samples = np.stack([column.values for column in numeric], axis=1)
    return Series([column.name for column in numeric], samples, text)


def _check_complete(table: DataTable, column: Column) -> None:
    fault = column.fault
    wrong = ~np.isfinite(column.values)
    if not fault and wrong.any():
        row = int(wrong.argmax())
        cell = column.cells[row]
        what = f"{shown(cell)} is not a finite number" if cell else "no value"
        fault = f"{table.place(row)}, column {column.name!r}: {what}"
    if fault:
        raise UserError(f"{table.path}, {fault}; fill in or remove such rows first")
