"""Tab-separated files, read line by line; whatever is wrong is said with file and line."""

import pathlib
from collections.abc import Iterator

from ._errors import DataError
from ._folders import reading


class Line:
    """The fields of one line, and where it stands."""

    def __init__(self, path: pathlib.Path, number: int, fields: list[str]):
        self.path, self.number, self.fields = path, number, fields

    def wrong(self, what: str) -> DataError:
        """The error to raise."""
        return DataError(f"{self.path}, line {self.number}: {what}")

    def label(self, text: str, classes: int) -> int:
        """A class, written as a whole number or as a float."""
        try:
            value = float(text)
        except ValueError:
            raise self.wrong(f"the label must be a number, not {shown(text)}") from None
        if value not in range(classes):
            raise self.wrong(f"the label must lie in 0 … {classes - 1}, not {shown(text)}")
        return int(value)


def read_table(path: pathlib.Path, columns: int, advice: str = "") -> Iterator[Line]:
    """Lines of so many columns with tabs between them, and no quoting: a quotation mark is text.

    `advice` is added to the complaint about the number of columns.
    """
    for line in _read(path, "\t"):
        if len(line.fields) != columns:
            raise line.wrong(f"{columns} columns expected, {len(line.fields)} found{advice}")
        yield line


def read_words(path: pathlib.Path) -> Iterator[Line]:
    """Lines of words with spaces between them."""
    return _read(path, None)


def _read(path: pathlib.Path, separator: str | None) -> Iterator[Line]:
    with reading(path), path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            line = Line(path, number, [])
            try:
                line.fields = raw.decode().rstrip("\r\n").split(separator)
            except UnicodeDecodeError:
                raise line.wrong("this is not UTF-8 text") from None
            yield line


def shown(text: str) -> str:
    """Text from a file, short enough for a message."""
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
