"""How a text table is written: its separator, its header and its decimal mark."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from .columns import DECIMAL_COMMA, is_value, number_of
from .content import IDS, LABELS, TIMES, is_regular

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
_ANY_SEPARATOR = re.compile(r"[,;\t|]")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234: with a decimal comma or without
_LOOKED_AT = 50  # rows from which the separator and the header are found
_LOOKED_AT_CHARACTERS = 200_000


def find_separator(text: str) -> str:
    """The separator that gives most columns, in all of the first rows alike where there is one."""
    lines = text[:_LOOKED_AT_CHARACTERS].splitlines()
    if len(text) > _LOOKED_AT_CHARACTERS and len(lines) > 1:
        lines.pop()  # it is cut
    lines = [line for line in lines if line.strip()][:_LOOKED_AT]
    qualities = {one: _quality(lines, one) for one in SEPARATORS if one != " "}
    best = max(qualities, key=lambda one: qualities[one])
    return " " if qualities[best][0] == 0 and _are_spaced_numbers(lines) else best


def _quality(lines: Sequence[str], separator: str) -> tuple[float, float, int]:
    """The share of rows of the most frequent width, that of cells without separators, the width.

    A decimal comma is not a separator.
    """
    try:
        rows = list(csv.reader(lines, delimiter=separator))
    except csv.Error:  # a cell of more than 131,072 characters
        return 0.0, 0.0, 0
    widths = Counter(map(len, rows))
    width, times = widths.most_common(1)[0] if widths else (1, 0)
    if width == 1:
        return 0.0, 0.0, 1
    cells = [cell.strip() for row in rows for cell in row]
    whole = sum(not _ANY_SEPARATOR.search(cell) or is_value(cell) for cell in cells)
    return times / len(rows), whole / len(cells), width


def _are_spaced_numbers(lines: Sequence[str]) -> bool:
    """Whether all rows have as many numbers, separated by spaces, as the first row has words."""
    rows = [line.split() for line in lines]
    if not rows or len(rows[0]) == 1 or len({len(row) for row in rows}) > 1:
        return False
    return all(
        is_value(row[0]) and all(number_of(cell) is not None for cell in row[1:])
        for row in rows[1:] or rows
    )


def has_decimal_commas(columns: Iterable[Sequence[str]], separator: str) -> bool:
    """Whether all numbers are written with a decimal comma, and one has a fraction.

    In a table separated by commas, 1,234 may be a thousand: another number must have a fraction.
    """
    cells = [cell for column in columns for cell in column if "," in cell or "." in cell]
    fractions = (
        cell
        for cell in cells
        if "," in cell and not (separator == "," and _THOUSANDS.fullmatch(cell))
    )
    return any(map(DECIMAL_COMMA.fullmatch, fractions)) and all(
        "." not in cell or DECIMAL_COMMA.fullmatch(cell) or number_of(cell) is None
        for cell in cells
    )


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns.

    It does if none of its cells is a value; if it has more names than values, one of them above
    values; or if, next to a name, its numbers count the samples, or increase and are regular, or
    the name is one of a label, an id or a time.
    """
    first, rest = rows[0], rows[1:_LOOKED_AT]
    words = [not is_value(cell) for cell in first]
    if all(words):
        return True
    cells = [cell for cell, word in zip(first, words, strict=True) if cell and not word]
    if not first[0] and len(cells) > 2 and rest and all(row[0] for row in rest):
        words[0] = True  # the unnamed index of a table
    if not any(words):
        return False
    if sum(words) > len(cells) and any(
        word and rest and all(is_value(row[index]) for row in rest)
        for index, word in enumerate(words)
    ):
        return True
    counted = {tuple(map(str, range(k, k + len(cells)))) for k in (0, 1)}
    if len(cells) > 1 and tuple(cells) in counted:
        return True
    names = {index: first[index] for index, word in enumerate(words) if word}
    if len(cells) < 3 or any(row[index] == name for index, name in names.items() for row in rest):
        return False
    numbers = np.array([number_of(cell) for cell in cells], float)
    known = any(name.lower() in (*LABELS, *IDS, *TIMES) for name in names.values())
    return bool((np.diff(numbers) > 0).all()) and (known or is_regular(numbers))
