"""Tables of results: plain rows, rendered on the page of the report and in Markdown."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np


class Spread(NamedTuple):
    """Mean and sample standard deviation over seeds; one seed has no deviation."""

    mean: float
    deviation: float | None
    seeds: int


class Quartiles(NamedTuple):
    """Median and quartiles of repeated timings."""

    median: float
    low: float
    high: float


Cell = str | int | float | Spread | Quartiles | None
Goal = Literal["highest", "lowest"]


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows under a header, and the command that measured them.

    - `best`: columns whose best entry is marked, among the rows that agree in the columns `within`.
    - `chance`: cells (row, column) at chance level, which are never marked.
    - `ours`: rows measured here, highlighted among published ones.
    """

    caption: str
    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    command: str
    note: str = ""
    best: Mapping[str, Goal] = dataclasses.field(default_factory=dict)
    within: tuple[str, ...] = ()
    ours: frozenset[int] = frozenset()
    chance: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"a row has {len(row)} cells, the header {len(self.header)}")


def spread(values: Iterable[float]) -> Spread:
    """Mean and sample deviation over seeds. A diverged run makes the mean NaN."""
    found = np.array(list(values), float)
    deviation = float(np.std(found, ddof=1)) if len(found) > 1 else None
    return Spread(float(np.mean(found)), deviation, len(found))


def value(cell: Cell) -> float:
    """The number by which cells are compared; NaN for text and gaps."""
    if isinstance(cell, Spread | Quartiles):
        return cell[0]
    return float(cell) if isinstance(cell, int | float) else math.nan


def shown(cell: Cell) -> str:
    """A cell as text, numbers to three significant digits, or three decimals."""
    if cell is None:
        return "–"
    if isinstance(cell, Spread):
        number = _like(max(abs(cell.mean), cell.deviation or 0.0))
        beside = "" if cell.deviation is None else f" ± {number(cell.deviation)}"
        return f"{number(cell.mean)}{beside}" if math.isfinite(cell.mean) else number(cell.mean)
    if isinstance(cell, Quartiles):
        number = _like(cell.median)
        return f"{number(cell.median)} ({number(cell.low)} … {number(cell.high)})"
    if isinstance(cell, int):
        return f"{cell:,}"
    return cell if isinstance(cell, str) else _like(cell)(cell)


def _like(size: float) -> Callable[[float], str]:
    """Formats a number of this size, and others in the same cell with as many decimals."""
    if not math.isfinite(size):
        return lambda x: "not finite"
    if size != 0 and not 1e-3 <= abs(size) < 1e6:
        return lambda x: f"{x:.2e}"
    decimals = max(0, 2 - math.floor(math.log10(abs(size)))) if size else 3
    if 0.01 <= abs(size) < 10:  # the same decimals throughout a column
        decimals = 3
    return lambda x: f"{x:,.{decimals}f}"


def leaders(table: Table) -> set[tuple[int, int]]:
    """Row and column of the best cell of each group, and of all within its deviation.

    A single seed has no deviation, so that nothing is marked where it leads. Cells at chance level
    are never marked.
    """
    places = [table.header.index(name) for name in table.within]
    keys = [tuple(row[place] for place in places) for row in table.rows]
    found = set()
    for name, goal in table.best.items():
        column = table.header.index(name)
        sign = 1 if goal == "highest" else -1
        scores = [sign * value(row[column]) for row in table.rows]
        for key in set(keys):
            rivals = [i for i, its in enumerate(keys) if its == key and not math.isnan(scores[i])]
            if len(rivals) > 1:
                top = max(rivals, key=lambda i: scores[i])
                cell = table.rows[top][column]
                within = cell.deviation if isinstance(cell, Spread) else 0.0
                if within is not None:
                    found |= {(i, column) for i in rivals if scores[i] >= scores[top] - within}
    return found - table.chance


def markdown(table: Table) -> str:
    """The table in Markdown, with the best entries, and those near them, in bold."""
    marked = leaders(table)
    lines = [table.header, ("---",) * len(table.header)]
    for index, row in enumerate(table.rows):
        cells = (shown(cell).replace("|", "\\|").replace("\n", " ") for cell in row)
        lines.append(
            tuple(
                f"**{text}**" if (index, column) in marked else text
                for column, text in enumerate(cells)
            )
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
