"""A table of named columns, and its CSV form."""

import csv
import dataclasses
import gzip
import io
import pathlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from .._bounds import check_memory
from .._checks import check_name
from .._errors import UserError
from .columns import Column, has_decimal_commas, is_value, make_column, with_clock_times
from .content import counted, read_bytes, read_text

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_LOOKED_AT = 50  # rows from which the separator is found
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


def read_csv(path: pathlib.Path) -> DataTable:
    """Read a file separated by commas, semicolons, tabs or bars, with or without a header."""
    text = read_text(path, _unpacked(path, read_bytes(path, _BYTES_PER_BYTE)))
    delimiter = _delimiter(text)
    lines, rows = _rows(path, text, delimiter)
    if not rows:
        raise UserError(f"{path} is empty")
    first = rows[0]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(first):
            raise UserError(
                f"{path}, line {line}: {len(row)} columns, but line {lines[0]} has {len(first)}"
            )
    header = _is_header(rows)
    names = _unique(first) if header else [f"column {i}" for i in range(1, len(first) + 1)]
    rows, lines = rows[header:], lines[header:]
    if not rows:
        raise UserError(f"{path} has no rows of data")
    cells = list(zip(*rows, strict=True))
    comma = delimiter != "," and has_decimal_commas([x for column in cells for x in column[:99]])
    columns = [
        make_column(name, column, lambda row: f"line {lines[row]}", comma)
        for name, column in zip(names, cells, strict=True)
    ]
    columns = with_clock_times(columns)
    dates = sorted({column.format for column in columns if column.kind == "time"})
    parts = [
        f"{counted(len(rows), 'row')} and {counted(len(names), 'column')}",
        f"{_DELIMITERS[delimiter]}-separated",
        "a header" if header else "no header",
        *(["decimal commas"] if comma else []),
        *([f"dates as {', '.join(dates)}"] if dates else []),
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
        cells = ["" if value is None else str(value).strip() for value in column.to_pylist()]
        columns.append(make_column(name, cells, lambda row: f"row {row + 1}"))
    size = f"{counted(found.num_rows, 'row')} and {counted(found.num_columns, 'column')}"
    return DataTable(path, with_clock_times(columns), None, True, f"{size}, Parquet")


def _unpacked(path: pathlib.Path, data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.open(io.BytesIO(data)) as file:
            found = file.read(_LARGEST_GZIP + 1)
    except (OSError, EOFError) as error:
        raise UserError(f"{path} is not a gzip file: {error}") from None
    if len(found) > _LARGEST_GZIP:
        raise UserError(f"{path} is too large: above {_LARGEST_GZIP:,} bytes unpacked")
    check_memory(_BYTES_PER_BYTE * len(found), str(path))
    return found


def _delimiter(text: str) -> str:
    """The separator that gives most columns, in all of the first rows alike where there is one."""
    lines = [line for line in text[:200_000].splitlines() if line.strip()][:_LOOKED_AT]

    def quality(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        width, times = widths.most_common(1)[0]
        return (times / sum(widths.values()) if width > 1 else 0.0), width

    try:
        return max(_DELIMITERS, key=quality) if lines else ","
    except csv.Error:
        return ","


def _rows(path: pathlib.Path, text: str, delimiter: str) -> tuple[list[int], list[list[str]]]:
    """Line numbers and cells of the rows that are not blank."""
    lines, rows = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            stripped = [cell.strip() for cell in row]
            if any(stripped):
                lines.append(reader.line_num)
                rows.append(stripped)
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: is not CSV: {error}") from None
    return lines, rows


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns.

    It does if none of its cells is a value; if it has more names than values, one of them above
    values; or if, next to a name, it counts the samples.
    """
    first, rest = rows[0], rows[1:_LOOKED_AT]
    words = [not is_value(cell) for cell in first]
    if all(words):
        return True
    if not any(words):
        return False
    numbers = [cell for cell, word in zip(first, words, strict=True) if cell and not word]
    if sum(words) > len(numbers) and any(
        word and rest and all(is_value(row[index]) for row in rest)
        for index, word in enumerate(words)
    ):
        return True
    counted = {tuple(map(str, range(k, k + len(numbers)))) for k in (0, 1)}
    return len(numbers) > 1 and tuple(numbers) in counted


def _unique(names: Sequence[str]) -> list[str]:
    """The names, with numbers for empty ones and for repetitions."""
    found: list[str] = []
    for index, name in enumerate(names, 1):
        name = name or f"column {index}"
        found.append(name if name not in found else f"{name} ({index})")
    return found


def is_regular(values: np.ndarray) -> bool:
    """Whether the differences are equal, up to rounding."""
    steps = np.diff(values)
    return len(steps) == 0 or bool(np.allclose(steps, steps[0], rtol=1e-6, atol=0))
