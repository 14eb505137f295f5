"""Numeric columns of a CSV file. Errors name the file and the line."""

import array
import csv
import dataclasses
import itertools
import math
import pathlib
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from .._errors import UserError

_DELIMITERS = ",;\t"


@dataclasses.dataclass(frozen=True, eq=False)
class Series:
    """The numeric columns of a file, and the names of the skipped columns of text."""

    names: list[str]
    samples: Float[np.ndarray, "time channels"]
    text: list[str]


def read_series(path: pathlib.Path) -> Series:
    """Read a comma-, semicolon- or tab-separated file, with or without a header.

    A first row without numbers is a header. A column without numbers, such as dates, is skipped.
    A numeric column must be complete: a missing value, a NaN or a word in it is an error.
    """
    rows = _rows(path)
    first, cells = next(rows, (0, []))
    if not cells:
        raise UserError(f"{path} is empty: one row of numbers per sample is expected")
    columns = [_Column(f"column {i}") for i in range(1, len(cells) + 1)]
    if all(_number(cell) is None for cell in cells):
        for column, cell in zip(columns, cells, strict=True):
            column.name = cell.strip() or column.name
    else:
        rows = itertools.chain([(first, cells)], rows)
    for line, cells in rows:
        if len(cells) != len(columns):
            raise UserError(
                f"{path}, line {line}: {len(cells)} columns, but line {first} has {len(columns)}"
            )
        for column, cell in zip(columns, cells, strict=True):
            column.add(line, cell)
            if column.is_numeric and column.fault:
                raise UserError(f"{path}, {column.fault}; fill in or remove such rows first")
    if len(columns[0].values) < 2:
        raise UserError(
            f"{path} has {len(columns[0].values)} rows of data: a series needs at least 2"
        )
    numeric = [column for column in columns if column.is_numeric]
    text = [column.name for column in columns if not column.is_numeric]
    if not numeric:
        raise UserError(f"{path} has no column of numbers; its columns are {', '.join(text)}")
    samples = np.stack([np.frombuffer(column.values) for column in numeric], axis=1)
    return Series([column.name for column in numeric], samples, text)


@dataclasses.dataclass
class _Column:
    name: str
    values: array.array = dataclasses.field(default_factory=lambda: array.array("d"))
    is_numeric: bool = False  # true from the first number on
    fault: str = ""  # the first cell that is not a finite number

    def add(self, line: int, cell: str) -> None:
        value = _number(cell)
        self.is_numeric |= value is not None
        value = math.nan if value is None else value
        self.values.append(value)
        if not self.fault and not math.isfinite(value):
            what = f"{cell.strip()!r} is not a finite number" if cell.strip() else "no value"
            self.fault = f"line {line}, column {self.name!r}: {what}"


def _rows(path: pathlib.Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row that is not blank."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            start = file.readline()
            delimiter = max(_DELIMITERS, key=start.count)
            reader = csv.reader(itertools.chain([start], file), delimiter=delimiter)
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield reader.line_num, cells
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a text file in UTF-8") from None
    except csv.Error as error:
        raise UserError(f"{path} is not a CSV file: {error}") from None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
