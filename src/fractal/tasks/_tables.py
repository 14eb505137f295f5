"""Tab-separated files, read line by line. Errors name file and line."""

import pathlib
from collections.abc import Iterator

from ._errors import DataError
from ._folders import reading


class Line:
    """The fields of one line of a file."""

    def __init__(self, path: pathlib.Path, number: int, fields: list[str]):
        self.path, self.number, self.fields = path, number, fields

    def error(self, what: str) -> DataError:
        """An error about this line, to be raised."""
        return DataError(f"{self.path}, line {self.number}: {what}")

    def label(self, text: str, classes: int) -> int:
        """Parse a class, written as an integer or as a float."""
        try:
            value = float(text)
        except ValueError:
            raise self.error(f"the label must be a number, not {shown(text)}") from None
        if value not in range(classes):
            raise self.error(f"the label must lie in 0 … {classes - 1}, not {shown(text)}")
        return int(value)


def read_table(path: pathlib.Path, columns: int, hint: str = "") -> Iterator[Line]:
    """Lines of `columns` fields separated by tabs, without quoting: a quotation mark is text.

    `hint` is appended to the error about a wrong number of columns.
    """
    for line in _read(path, "\t"):
        if len(line.fields) != columns:
            raise line.error(f"{columns} columns expected, {len(line.fields)} found{hint}")
        yield line


def read_words(path: pathlib.Path) -> Iterator[Line]:
    """Lines of words separated by spaces."""
    return _read(path, None)


def _read(path: pathlib.Path, separator: str | None) -> Iterator[Line]:
    with reading(path), path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            line = Line(path, number, [])
            try:
                line.fields = raw.decode().rstrip("\r\n").split(separator)
            except UnicodeDecodeError:
                raise line.error("not UTF-8 text") from None
            yield line


def shown(text: str) -> str:
    """Text from a file, shortened for a message."""
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
