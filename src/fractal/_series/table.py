"""A table of named columns, and its CSV form."""

import csv
import dataclasses
import gzip
import io
import pathlib
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from .._bounds import available_bytes, check_memory
from .._checks import check_name
from .._errors import UserError
from .columns import Column, make_column, with_clock_times
from .content import counted, read_bytes, read_text, shown
from .dialect import SEPARATORS, find_separator, has_decimal_commas, is_header

_BYTES_PER_BYTE = 12.0  # memory for the cells of a file, relative to its size
_LARGEST_GZIP = 4_000_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class DataTable:
    """Columns of equal length.

    - `lines`: line in the file of each row; None where rows are counted from 1.
    - `header`: whether the file names the columns.
    - `summary`: how the file was read.
    """

    path: pathlib.Path
    columns: list[Column]
    lines: Sequence[int] | None
    header: bool
    summary: str

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def __len__(self) -> int:
        return len(self.columns[0].cells)

    def place(self, row: int) -> str:
        """The name of a row for errors."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def column(self, name: str, argument: str) -> Column:
        """The column of a name that the user gave as `argument`."""
        try:
            check_name("column", name, self.names)
        except UserError as error:
            raise UserError(f"{self.path}: {error}", argument=argument) from None
        return next(column for column in self.columns if column.name == name)

    def numbers(self, columns: Sequence[Column]) -> Float[np.ndarray, "columns rows"]:
        """The values of columns that must be numeric; NaN is missing."""
        values = np.stack([column.numbers(str(self.path)) for column in columns])
        if np.isinf(values).any():
            index, row = (int(one[0]) for one in np.nonzero(np.isinf(values)))
            raise UserError(
                f"{self.path}, {self.place(row)}, column {columns[index].name!r}: "
                f"{shown(columns[index].cells[row])} is not finite"
            )
        return values


def read_csv(path: pathlib.Path) -> DataTable:
    """Read a file separated by commas, semicolons, tabs, bars or spaces, with or without a header.

    In a file separated by spaces all cells below the header are numbers, or dates in the first
    column.
    """
    text = read_text(path, _unpacked(path, read_bytes(path, _BYTES_PER_BYTE)))
    separator = find_separator(text)
    lines, rows = _rows(path, text, separator)
    if not rows:
        raise UserError(f"{path} is empty")
    first = rows[0]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(first):
            raise UserError(
                f"{path}, line {line}: {len(row)} columns, but line {lines[0]} has {len(first)}"
            )
    header = is_header(rows)
    names = _unique(first) if header else [f"column {i}" for i in range(1, len(first) + 1)]
    rows, lines = rows[header:], lines[header:]
    if not rows:
        raise UserError(f"{path} has no rows of data")
    cells = list(zip(*rows, strict=True))
    quoted = separator != "," or '"' in text  # else a comma cannot be in a cell
    comma = quoted and "," in text and has_decimal_commas(cells, separator)
    columns = [
        make_column(name, column, lambda row: f"line {lines[row]}", comma)
        for name, column in zip(names, cells, strict=True)
    ]
    columns, left_out = _without_index(first if header else names, columns)
    columns = with_clock_times(columns)
    dates = sorted({column.format for column in columns if column.kind == "time"})
    parts = [
        f"{counted(len(rows), 'row')} and {counted(len(names), 'column')}",
        f"{SEPARATORS[separator]}-separated",
        "a header" if header else "no header",
        *(["decimal commas"] if comma else []),
        *([f"dates as {', '.join(dates)}"] if dates else []),
        *left_out,
    ]
    return DataTable(path, columns, lines, header, ", ".join(parts))


def read_parquet(path: pathlib.Path) -> DataTable:
    """Read a Parquet file, with pyarrow."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        import pyarrow.parquet  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UserError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from None
    try:
        meta = pyarrow.parquet.read_metadata(path)
        size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
        check_memory(_BYTES_PER_BYTE * size, str(path))
        found = pyarrow.parquet.read_table(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except pyarrow.ArrowException as error:
        raise UserError(f"{path} is not a Parquet file: {' '.join(str(error).split())}") from None
    if not (found.num_rows and found.num_columns):
        raise UserError(f"{path} is empty")
    columns = []
    for name, column in zip(_unique(found.column_names), found.columns, strict=True):
        # NaN is not equal to itself.
        cells = [
            "" if value is None or value != value else str(value).strip()
            for value in column.to_pylist()
        ]
        columns.append(make_column(name, cells, lambda row: f"row {row + 1}"))
    size = f"{counted(found.num_rows, 'row')} and {counted(found.num_columns, 'column')}"
    columns, left_out = _without_index(found.column_names, columns)
    summary = ", ".join([size, "Parquet", *left_out])
    return DataTable(path, with_clock_times(columns), None, True, summary)


def _without_index(names: Sequence[str], columns: list[Column]) -> tuple[list[Column], list[str]]:
    """The columns without an index that pandas has written, and a note about it.

    An index has distinct integers. In CSV it comes first and has no name of its own.
    """
    kept: list[Column] = []
    left_out: list[str] = []
    for name, column in zip(names, columns, strict=True):
        unnamed = name.startswith("__index_level_") or (
            not kept and (not name or name.startswith("Unnamed: "))
        )
        distinct = unnamed and len(set(column.cells)) == len(column.cells)
        if distinct and all(map(str.isdecimal, column.cells)):
            left_out.append(column.name)
        else:
            kept.append(column)
    if not kept or not left_out:
        return columns, []
    return kept, [f"without the index in {', '.join(map(repr, left_out))}"]


def _unpacked(path: pathlib.Path, data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    largest = int(min(_LARGEST_GZIP, available_bytes() / _BYTES_PER_BYTE))
    try:
        with gzip.open(io.BytesIO(data)) as file:
            found = file.read(largest + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} is not a gzip file, or damaged: {error}") from None
    if len(found) > largest:
        raise UserError(f"{path} is too large: above {largest:,} bytes unpacked")
    return found


def _rows(path: pathlib.Path, text: str, separator: str) -> tuple[list[int], list[list[str]]]:
    """Line numbers and cells of the rows that are not blank."""
    if separator == " ":
        split = [(line, row.split()) for line, row in enumerate(text.splitlines(), 1)]
        return [line for line, row in split if row], [row for _, row in split if row]
    lines, rows = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in reader:
            stripped = [cell.strip() for cell in row]
            if any(stripped):
                lines.append(reader.line_num)
                rows.append(stripped)
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: is not CSV: {error}") from None
    return lines, rows


def _unique(names: Sequence[str]) -> list[str]:
    """The names, with numbers for empty ones and for repetitions."""
    found: list[str] = []
    for index, name in enumerate(names, 1):
        name = name or f"column {index}"
        found.append(name if name not in found else f"{name} ({index})")
    return found
