"""The figures of the theory: measures, operators, spectrum, conditioning, recall by age.

`fractal verify --figures` writes them as files; the page of `fractal report` has them inline.
"""

import itertools
import pathlib
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from ... import theory
from ..._memory import OnlineMemory
from ..paper_tables import PRINTED_CONDITION
from ..recall import brownian, error_by_age, sample_ages

# Okabe and Ito's palette: distinct under every common form of color blindness.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GRAY = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
# From nearly transparent: readable on a light and on a dark page.
_ENTRIES = LinearSegmentedColormap.from_list("entries", [(0, 0.45, 0.7, 0.08), (0, 0.45, 0.7, 1)])


def draw_all(folder: pathlib.Path) -> list[pathlib.Path]:
    """Write every figure as PNG and PDF into `folder`; returns the PNG files."""
    drawings: dict[str, Callable[[], Figure]] = {
        "measures": measures,
        "operators": operators,
        "spectrum": spectrum,
        "conditioning": conditioning,
        "recall": recall_by_age,
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in drawings.items():
        figure = draw()
        figure.savefig(folder / f"{name}.pdf")
        figure.savefig(folder / f"{name}.png", dpi=200)
        written.append(folder / f"{name}.png")
    return written


def contact_sheet(images: UInt8[np.ndarray, "count rows columns"], labels: Sequence[int]) -> Figure:
    """Pathfinder images, each with its label."""
    columns = min(8, len(images))
    rows = -(-len(images) // columns)
    figure, grid = new_figure(rows, columns, 1.4 * columns, 1.6 * rows)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, image, label in zip(grid.flat, images, labels, strict=False):
        axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set_title("connected" if label else "not", fontsize=8)
    return figure


def new_figure(rows: int, columns: int, width: float, height: float, **kwargs):
    """A figure of width × height inches and its grid of axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def finish(axes: Axes, title: str, x: str, y: str) -> None:
    """Title, labels and a light grid, the same in all figures."""
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(True, which="major", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def measures() -> Figure:
    """The paper's figure 2: the four measures, and the fractional one for several α."""
    figure, ((left, right),) = new_figure(1, 2, 8.4, 3.4)
    t = 10.0
    x = t - np.concatenate([np.geomspace(1e-3, 1, 100), np.linspace(1.0001, t, 300)])
    x = np.sort(x)
    for measure, label, color, style in (
        (theory.Fractional(0.5), "fractional, α = 0.5", VERMILION, "-"),
        (theory.LegS(), "LegS", BLACK, "--"),
        (theory.LagT(), "LagT, timescale 1", BLUE, "-."),
        (theory.LegT(window=2.0), "LegT, window 2", GREEN, ":"),
    ):
        density = np.asarray(measure.density(t, x))
        left.plot(x, np.where(density > 0, density, np.nan), style, color=color, label=label)
    for alpha, color in zip((0.0, 0.25, 0.5, 0.75, 0.9), _ladder(5), strict=True):
        right.plot(x, theory.Fractional(alpha).density(t, x), color=color, label=f"α = {alpha}")
    for axes, title in ((left, "(a) four measures"), (right, "(b) the singularity index")):
        axes.set_yscale("log")
        axes.set_ylim(2e-4, 20)
        finish(axes, title, "time x  (now: t = 10)", "memory density μ⁽ᵗ⁾(x)")
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def operators() -> Figure:
    """The paper's figure 3, for the published and for the fractional operator."""
    alphas, order = (0.0, 0.5, 0.9), 16
    figure, grid = new_figure(2, 3, 8.4, 5.6, sharex=True, sharey=True)
    norm = LogNorm(vmin=1, vmax=3000)
    for column, alpha in enumerate(alphas):
        pair = (
            ("published", theory.published_operator(alpha, order)),
            ("fractional", theory.operator(theory.Fractional(alpha), order)),
        )
        for row, (name, op) in enumerate(pair):
            axes = grid[row, column]
            axes.imshow(
                np.where(op.A > 1e-9, op.A, np.nan), cmap=_ENTRIES, norm=norm, interpolation="none"
            )
            axes.set(xticks=range(0, order, 5), yticks=range(0, order, 5))
            axes.set_title(f"{name}, α = {alpha}", loc="left", fontsize=10)
            if row:
                axes.set_xlabel("column k")
            if not column:
                axes.set_ylabel("row n")
    figure.colorbar(grid[0, 0].images[0], ax=grid, label="entry of A  (empty: zero)")
    return figure


def spectrum() -> Figure:
    """Eigenvalues of the fractional operator, and where the published ones lie."""
    figure, ((axes,),) = new_figure(1, 1, 6.0, 4.2)
    order = 64
    axes.plot(
        np.arange(1, order + 1), np.zeros(order), "|", color=BLACK, label="published, any α: 1 … N"
    )
    for alpha, color, marker in ((0.1, SKY, "o"), (0.5, GREEN, "s"), (0.9, VERMILION, "^")):
        found = theory.diagonalize(theory.operator(theory.Fractional(alpha), order)).eigenvalues
        axes.plot(np.real(found), np.imag(found), marker, color=color, markersize=3.5,
                  label=f"fractional, α = {alpha}")  # fmt: skip
    axes.axvline(0.5, color=GRAY, linestyle="--", linewidth=1)
    axes.annotate(
        "Re λ > ½: proved", (0.52, 200), fontsize=8, color=GRAY, rotation=90, va="top", ha="left"
    )
    axes.set_xscale("log")
    axes.set_xlim(0.4, 1e5)
    axes.set_yscale("symlog", linthresh=1.0)
    finish(axes, f"decay and oscillation of the modes, N = {order}", "Re λ", "Im λ")
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    return figure


def conditioning() -> Figure:
    """κ(V) against N: as printed, exact for the published operator, and of the fractional one."""
    figure, ((axes,),) = new_figure(1, 1, 6.0, 4.2)
    orders = np.array([4, 8, 16, 32, 64])
    wide = np.array([4, 8, 16, 32, 64, 128, 256])
    for alpha, color in ((0.2, BLUE), (0.6, GREEN), (0.9, VERMILION)):
        exact = [theory.published_spectrum(alpha, n).condition for n in orders]
        printed = [row[alpha] for row in PRINTED_CONDITION.values()]
        ours = [
            theory.diagonalize(theory.operator(theory.Fractional(alpha), n)).condition for n in wide
        ]
        axes.plot(orders, exact, "--", color=color, label=f"published, exact, α = {alpha}")
        axes.plot(list(PRINTED_CONDITION), printed, "x", color=color,
                  label=f"published, as printed, α = {alpha}")  # fmt: skip
        axes.plot(wide, ours, "-o", color=color, markersize=3, label=f"fractional, α = {alpha}")
    axes.axhline(1e16, color=GRAY, linewidth=1)
    axes.annotate("float64 has no digits left", (70, 3e16), fontsize=8, color=GRAY)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(wide, [str(n) for n in wide])
    finish(axes, "condition number of the eigenvectors", "order N", "κ(V)")
    axes.legend(frameon=False, fontsize=7, loc="upper left")
    return figure


def recall_by_age(paths: int = 16, length: int = 50_000, order: int = 64) -> Figure:
    """Recall error of Brownian paths by age, for each memory at the same order."""
    u = brownian(length, paths)
    edges = np.geomspace(1 / length, 1, 24)
    bands = tuple(itertools.pairwise(edges))
    centers = np.sqrt(edges[:-1] * edges[1:])
    figure, ((axes,),) = new_figure(1, 1, 6.4, 4.2)
    for name, recalled, color, style in _recalled(u, order):
        rms = np.sqrt(np.mean(error_by_age(recalled - u, bands) ** 2, axis=1))
        axes.plot(centers, rms, linestyle=style, color=color, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1.5e-3, 30)
    finish(
        axes,
        f"recall of {paths} Brownian paths of {length:,} samples, N = {order}",
        "relative age  (0 = now, 1 = the beginning)",
        "root-mean-square error",
    )
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper left")
    return figure


def _recalled(u: Float[np.ndarray, "time paths"], order: int):
    """Name, recalled signal, color and line style of each memory."""
    ages, paths = sample_ages(len(u)), u.shape[1]
    legs = OnlineMemory(0.0, order, channels=paths).push(u)
    for measure, name, color, style in (
        (theory.LagT(timescale=0.1), "LagT, timescale 0.1", BLUE, "-."),
        (theory.LegT(window=0.1), "LegT, window 0.1", GREEN, ":"),
    ):
        x = theory.project(measure, u, order)
        yield name, theory.recall(measure, x, ages), color, style
    # The published system at α contains M times the LegS state; the paper interprets it under μ_α.
    state = legs.coefficients @ theory.to_legs(0.9, order).T
    yield (
        "published, α = 0.9",
        theory.recall(theory.Fractional(0.9), state, ages),
        PURPLE,
        (0, (1, 1)),
    )
    yield "LegS", legs.recall(ages), BLACK, "--"
    for alpha, color in ((0.5, ORANGE), (0.9, VERMILION)):
        memory = OnlineMemory(alpha, order, channels=paths).push(u)
        yield f"fractional, α = {alpha}", memory.recall(ages), color, "-"


def reconstruction(
    names: list[str],
    samples: Float[np.ndarray, "time channels"],
    recalled: dict[str, Float[np.ndarray, "time channels"]],
) -> Figure:
    """Each signal and its recall by several memories, over the whole history and over log age.

    A signal of more samples than pixels is drawn as its range, so that no spike is lost.
    """
    figure, grid = new_figure(len(names), 2, 9.0, 2.6 * len(names))
    length = len(samples)
    ages = sample_ages(length)
    evenly = np.unique(np.linspace(0, length, 1500, endpoint=False).astype(int))
    by_log_age = np.unique(length - np.geomspace(1, length, 1500).astype(int))
    for channel, name in enumerate(names):
        signal = samples[:, channel]
        for axes, starts, x, label in (
            (grid[channel, 0], evenly, np.arange(length), "sample"),
            (grid[channel, 1], by_log_age, ages, "relative age (logarithmic; now at the right)"),
        ):
            middle = (starts + np.append(starts[1:], length)) // 2
            lowest, highest = (f.reduceat(signal, starts) for f in (np.minimum, np.maximum))
            axes.fill_between(x[middle], lowest, highest, color="0.75", linewidth=1, label="signal")
            for (memory, values), color, style in zip(
                recalled.items(), (VERMILION, BLACK), ("-", "--"), strict=False
            ):
                axes.plot(x[middle], values[middle, channel], style, color=color, linewidth=1,
                          label=memory)  # fmt: skip
            finish(axes, name, label, "value")
        grid[channel, 1].set_xscale("log")
        grid[channel, 1].invert_xaxis()
    grid[0, 0].legend(frameon=False, fontsize=8)
    return figure


def _ladder(count: int) -> list[tuple[float, ...]]:
    from matplotlib import colormaps

    return [tuple(color) for color in colormaps["cividis"](np.linspace(0, 0.9, count))]
