"""Charts of results: scores with error bars, confusion matrices, residuals, single examples."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ..table import Cell, Quartiles, Spread, value
from .figures import BLACK, BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILION, finish, new_figure

PALETTE = (VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY, GRAY, BLACK)
_MARKERS = "os^Dv*Xp"
# Transparent to opaque, so that a chart is readable on a light and on a dark page.
_HEAT = LinearSegmentedColormap.from_list("heat", [(0, 0.45, 0.7, 0), (0, 0.45, 0.7, 0.9)])
_MOST_NUMBERED = 12  # classes of a confusion matrix whose cells contain numbers
_SHORTEN = 28  # characters of a name beside an axis


def plain(name: str) -> str:
    """Text that matplotlib can encode and does not read as a formula."""
    return name.encode(errors="replace").decode().replace("$", r"\$")


def short(name: str, most: int = _SHORTEN) -> str:
    """A name as it fits beside an axis."""
    return plain(name if len(name) <= most else f"{name[: most - 1]}…")


def colors(names: Iterable[str], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """A color per name: the known one, or one that is left."""
    names = list(dict.fromkeys(names))
    found = {name: known[name] for name in names if known and name in known}
    left = [color for color in PALETTE if color not in found.values()] or list(PALETTE)
    rest = (name for name in names if name not in found)
    return found | {name: left[index % len(left)] for index, name in enumerate(rest)}


def dots(
    rows: Mapping[str, Mapping[str, Cell]],
    label: str,
    *,
    scale: str = "linear",
    references: Mapping[str, float] | None = None,
    known: Mapping[str, str] | None = None,
) -> Figure:
    """A row per name, with a mark and an error bar per series; `references` are vertical lines.

    Error bars are one sample standard deviation, or quartiles.
    """
    series = colors((name for cells in rows.values() for name in cells), known)
    lane = 0.8 / len(series)
    drawn = {name: at for name, at in (references or {}).items() if np.isfinite(at)}
    marked = [*(series if len(series) > 1 else ()), *drawn]
    height = 0.7 + len(rows) * max(0.26, 0.13 * len(series)) + 0.17 * len(marked)
    figure, ((axes,),) = new_figure(1, 1, 4.8, max(1.6, height))
    for index, (name, color) in enumerate(series.items()):
        points = [
            (place + lane * (index - (len(series) - 1) / 2), cells[name])
            for place, cells in enumerate(rows.values())
            if name in cells and np.isfinite(value(cells[name]))
        ]
        if points:
            y, cells = zip(*points, strict=True)
            middle = [value(cell) for cell in cells]
            errors = np.array([_errors(cell) for cell in cells]).T
            legend = plain(name) if len(series) > 1 else None
            axes.errorbar(middle, y, xerr=errors, fmt=_MARKERS[index % 8], color=color,
                          markersize=4, capsize=2, linewidth=1.2, label=legend)  # fmt: skip
    for style, (name, at) in zip(("--", ":", "-."), drawn.items(), strict=False):
        axes.axvline(at, color=GRAY, linestyle=style, linewidth=1.2, label=plain(name))
    axes.set_xscale(scale)
    axes.set_yticks(range(len(rows)), [short(name) for name in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    finish(axes, "", label, "")
    axes.grid(visible=False, axis="y")
    if marked:
        figure.legend(frameon=False, fontsize=8, loc="outside upper left", ncols=2)
    return figure


def _errors(cell: Cell) -> tuple[float, float]:
    if isinstance(cell, Quartiles):
        return cell.median - cell.low, cell.high - cell.median
    deviation = cell.deviation if isinstance(cell, Spread) else None
    return deviation or 0.0, deviation or 0.0


def confusion(counts: Int[np.ndarray, "classes classes"], names: Sequence[str]) -> Figure:
    """Share of each true class (row) that was predicted as each class (column)."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure, ((axes,),) = new_figure(1, 1, 4.6, 4.0)
    axes.imshow(share, cmap=_HEAT, vmin=0, vmax=1, interpolation="none")
    if len(counts) <= _MOST_NUMBERED:
        for (row, column), part in np.ndenumerate(share):
            if counts[row, column]:
                axes.text(column, row, f"{part:.2f}".removeprefix("0"), ha="center", va="center",
                          fontsize=8)  # fmt: skip
        axes.set_xticks(range(len(names)), [short(name, 10) for name in names], rotation=45)
        axes.set_yticks(range(len(names)), [short(name, 10) for name in names])
    axes.set(xlabel="predicted class", ylabel="true class")
    return figure


def residuals(
    predicted: Float[np.ndarray, " values"], target: Float[np.ndarray, " values"]
) -> Figure:
    """Predictions against targets, and the histogram of their differences."""
    figure, ((left, right),) = new_figure(1, 2, 7.2, 3.2)
    some = np.unique(np.linspace(0, len(target) - 1, 2000).astype(int))
    left.plot(target[some], predicted[some], ".", color=BLUE, markersize=3, alpha=0.5,
              rasterized=True)  # fmt: skip
    ends = [min(target.min(), predicted.min()), max(target.max(), predicted.max())]
    left.plot(ends, ends, "--", color=GRAY, linewidth=1)
    finish(left, "", "target", "prediction")
    right.hist(predicted - target, bins=40, color=BLUE)
    right.axvline(0.0, color=GRAY, linestyle="--", linewidth=1)
    finish(right, "", "prediction − target", "examples")
    return figure


def examples(inputs: Sequence[np.ndarray], titles: Sequence[str]) -> Figure:
    """Small panels: gray images (rows, columns), or series (time, channels) as lines."""
    columns = min(5, len(inputs))
    rows = -(-len(inputs) // columns)
    figure, grid = new_figure(rows, columns, 1.75 * columns, 2.0 * rows)
    for axes in grid.flat:
        axes.set_axis_off()
    image = inputs[0].ndim == 2 and min(inputs[0].shape) > 4
    for axes, shown, title in zip(grid.flat, inputs, titles, strict=False):
        if image:
            axes.imshow(shown, cmap="gray", interpolation="none")
        else:
            axes.set_axis_on()
            for channel, color in zip(shown.T, PALETTE, strict=False):
                axes.plot(channel, color=color, linewidth=0.8)
            axes.tick_params(labelsize=6)
            axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(plain(title), fontsize=8)
    return figure
