"""`.ts` files of the UCR/UEA archive: headers, then one case per line.

A line is `channel:channel:…:label`, and a channel `value,value,…`, or with `@timeStamps true`
`(time,value),(time,value),…`. A missing value is `?`.
"""

import pathlib
import re
from collections.abc import Iterator, Sequence

import numpy as np

from .._errors import UserError
from .columns import make_column
from .content import (
    MISSING,
    NO_LABEL,
    Cases,
    described,
    label_text,
    read_bytes,
    read_text,
    regular_interval,
    shown,
)

_PAIR = re.compile(r"\(([^()]*),([^(),]*)\)")


def read_ts(path: pathlib.Path, labeled: bool = True) -> Cases:
    """Read a file; UserError names the line, the channel and the value that is wrong.

    **Arguments:**

    - `labeled`: whether all cases must have a label, if the file has labels.
    """
    lines = _lines(path)
    headers = _headers(path, lines)
    numeric = _first(headers, "targetlabel") == "true"
    has_labels = numeric or _first(headers, "classlabel") == "true"
    stamped = _first(headers, "timestamps") == "true"
    classes = headers.get("classlabel", ["false"])[1:]
    series, labels, times, dated = [], [], [], False
    for line, text in lines:
        where = f"{path}, line {line}"
        parts = _channels(text, stamped)
        if has_labels:
            label = parts.pop().strip()
            missing = label in NO_LABEL or (numeric and label.lower() in MISSING)
            if missing and labeled:
                raise UserError(f"{where}: has no label")
            if classes and not missing and label not in classes:
                raise UserError(f"{where}: the label {shown(label)} is not one of @classLabel")
            labels.append("" if missing else label_text(label))
        values, ends, dated = _case(where, parts, stamped)
        if series and len(values) != len(series[0]):
            raise UserError(
                f"{where}: {len(values)} channels, but the first case has {len(series[0])}"
            )
        series.append(values)
        times.append(ends)
    if not series:
        raise UserError(f"{path} has no cases after @data")
    names = [f"channel {index}" for index in range(1, len(series[0]) + 1)]
    stamps = ", time stamps" if stamped else ""
    interval = regular_interval(times)
    return Cases(
        series,
        labels if any(labels) else None,
        numeric if any(labels) else None,
        times if stamped and interval is None else None,
        names,
        f"{described(series)}{stamps}",
        interval=interval,
        dated=stamped and dated,
    )


def _lines(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    text = read_text(path, read_bytes(path, 4.0))
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


def _headers(path: pathlib.Path, lines: Iterator[tuple[int, str]]) -> dict[str, list[str]]:
    """The words of each header line by name in lower case; leaves the lines of data."""
    found: dict[str, list[str]] = {}
    for line, text in lines:
        if not text.startswith("@"):
            raise UserError(f"{path}, line {line}: a header line starting with @ is expected")
        name, *words = text[1:].split()
        if name.lower() == "data":
            return found
        found[name.lower()] = words
    raise UserError(f"{path} is not a .ts file: it has no line @data")


def _first(headers: dict[str, list[str]], name: str) -> str:
    return (headers.get(name) or ["false"])[0].lower()


def _channels(text: str, stamped: bool) -> list[str]:
    """The channels and the label; a time stamp such as 12:30 contains no separator."""
    return re.split(r":(?![^()]*\))", text) if stamped else text.split(":")


def _case(where: str, parts: Sequence[str], stamped: bool) -> tuple[np.ndarray, np.ndarray, bool]:
    """Values and time stamps of a case, and whether these are dates."""
    channels = [_channel(f"{where}, channel {i}", part, stamped) for i, part in enumerate(parts, 1)]
    lengths = {len(values) for values, _, _ in channels}
    if len(lengths) != 1:
        raise UserError(f"{where}: its channels have {', '.join(map(str, sorted(lengths)))} values")
    if 0 in lengths:
        raise UserError(f"{where}: has no values")
    times = [stamps for _, stamps, _ in channels]
    if any(not np.array_equal(one, times[0]) for one in times):
        raise UserError(f"{where}: its channels have different time stamps")
    return np.stack([values for values, _, _ in channels]), times[0], channels[0][2]


def _channel(where: str, text: str, stamped: bool) -> tuple[np.ndarray, np.ndarray, bool]:
    """Values and time stamps of one channel, and whether these are dates."""
    if not stamped:
        return _parsed(where, text.split(",")), np.zeros(0), False
    pairs = _PAIR.findall(text)
    if ",".join(f"({time},{value})" for time, value in pairs) != re.sub(r"\s*,\s*\(", ",(", text):
        raise UserError(f"{where}: (time,value),(time,value),… is expected")
    return _parsed(where, [value for _, value in pairs]), *_stamps(where, [t for t, _ in pairs])


def _parsed(where: str, cells: Sequence[str]) -> np.ndarray:
    cells = [cell.strip() for cell in cells]
    if cells == [""]:
        return np.zeros(0)
    try:
        values = np.array(["nan" if cell == "?" else cell for cell in cells], dtype=np.float64)
    except ValueError:
        values = np.array([_number(where, *one) for one in enumerate(cells, 1)])
    if np.isinf(values).any():
        index = int(np.isinf(values).argmax())
        raise UserError(f"{where}, value {index + 1}: {shown(cells[index])} is not finite")
    return values


def _number(where: str, index: int, cell: str) -> float:
    try:
        return np.nan if cell.lower() in MISSING else float(cell)
    except ValueError:
        raise UserError(f"{where}, value {index}: {shown(cell)} is not a number") from None


def _stamps(where: str, cells: Sequence[str]) -> tuple[np.ndarray, bool]:
    """Time stamps as numbers, or dates as seconds; and whether they are dates."""
    column = make_column("time stamps", [cell.strip() for cell in cells], lambda row: "")
    if column.kind == "text" or not np.isfinite(column.values).all():
        raise UserError(f"{where}: its time stamps must be numbers or dates")
    if (np.diff(column.values) <= 0).any():
        raise UserError(f"{where}: its time stamps must increase")
    return column.values, column.kind == "time"
