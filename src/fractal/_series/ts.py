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
from .content import MISSING, Cases, described, read_bytes, read_text

_PAIR = re.compile(r"\(([^()]*),([^(),]*)\)")


def read_ts(path: pathlib.Path) -> Cases:
    """Read a file; UserError names the line, the channel and the value that is wrong."""
    lines = _lines(path)
    headers = _headers(path, lines)
    labeled = _first(headers, "classlabel") == "true" or _first(headers, "targetlabel") == "true"
    numeric = _first(headers, "targetlabel") == "true"
    stamped = _first(headers, "timestamps") == "true"
    classes = headers.get("classlabel", ["false"])[1:]
    series, labels, times = [], [], []
    for line, text in lines:
        where = f"{path}, line {line}"
        parts = _channels(text, stamped)
        if labeled:
            label = parts.pop().strip()
            if label.lower() in MISSING:
                raise UserError(f"{where}: has no label")
            if classes and label not in classes:
                raise UserError(f"{where}: the label {label!r} is not one of @classLabel")
            labels.append(label)
        values, ends = _case(where, parts, stamped)
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
    summary = f"{described(series)}{stamps}"
    return Cases(
        series,
        labels if labeled else None,
        numeric if labeled else None,
        times if stamped else None,
        names,
        summary,
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


def _case(where: str, parts: Sequence[str], stamped: bool) -> tuple[np.ndarray, np.ndarray]:
    channels = [_channel(f"{where}, channel {i}", part, stamped) for i, part in enumerate(parts, 1)]
    lengths = {len(values) for values, _ in channels}
    if len(lengths) != 1:
        raise UserError(f"{where}: its channels have {', '.join(map(str, sorted(lengths)))} values")
    if 0 in lengths:
        raise UserError(f"{where}: has no values")
    times = [stamps for _, stamps in channels]
    if any(not np.array_equal(one, times[0]) for one in times):
        raise UserError(f"{where}: its channels have different time stamps")
    return np.stack([values for values, _ in channels]), times[0]


def _channel(where: str, text: str, stamped: bool) -> tuple[np.ndarray, np.ndarray]:
    """Values and time stamps of one channel."""
    if not stamped:
        return _parsed(where, text.split(",")), np.zeros(0)
    pairs = _PAIR.findall(text)
    if ",".join(f"({time},{value})" for time, value in pairs) != re.sub(r"\s*,\s*\(", ",(", text):
        raise UserError(f"{where}: (time,value),(time,value),… is expected")
    return _parsed(where, [value for _, value in pairs]), _stamps(where, [t for t, _ in pairs])


def _parsed(where: str, cells: Sequence[str]) -> np.ndarray:
    cells = [cell.strip() for cell in cells]
    if cells == [""]:
        return np.zeros(0)
    try:
        return np.array(["nan" if cell == "?" else cell for cell in cells], dtype=np.float64)
    except ValueError:
        pass
    values = []
    for index, cell in enumerate(cells, 1):
        try:
            values.append(np.nan if cell.lower() in MISSING else float(cell))
        except ValueError:
            raise UserError(f"{where}, value {index}: {cell!r} is not a number") from None
    return np.array(values)


def _stamps(where: str, cells: Sequence[str]) -> np.ndarray:
    """Time stamps as numbers, or dates as seconds."""
    column = make_column("time stamps", [cell.strip() for cell in cells], lambda row: "")
    if column.kind == "text" or np.isnan(column.values).any():
        raise UserError(f"{where}: its time stamps must be numbers or dates")
    if (np.diff(column.values) <= 0).any():
        raise UserError(f"{where}: its time stamps must increase")
    return column.values
