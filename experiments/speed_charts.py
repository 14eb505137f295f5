"""Accuracy against speed: Morse code by repeats of a bit, spoken digits by speed and tempo.

`python -m experiments.speed_charts` draws docs/images/speed.png.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fractal.report.pages import figures
from fractal.report.pages.charts import plain
from fractal.report.pages.page import Chart
from fractal.report.table import Spread

from . import code
from .learned_clock import RESCALED, by_condition, conditions, variants
from .results import Line, read_experiment
from .summaries import grouped

# Color and line style of each model; others are left out of the picture.
_STYLES = {
    "fractal, scale-invariant": (figures.VERMILION, "-"),
    "fractal, scale-invariant, selective": (figures.PURPLE, "-"),
    "fractal, scale-invariant, path": (figures.GRAY, "-"),
    "fractal, uniform": (figures.ORANGE, "--"),
    f"fractal, uniform{RESCALED}": (figures.ORANGE, ":"),
    "s5": (figures.BLUE, "--"),
    f"s5{RESCALED}": (figures.BLUE, ":"),
    "s4d": (figures.GREEN, "--"),
    "lmu": (figures.SKY, "--"),
    "sithcon": (figures.BLACK, "-."),
    "s5, resampled": (figures.SKY, "-."),
    "log-mel, logistic regression": (figures.BLACK, "--"),
}


def _numbered(names: Sequence[str], prefix: str) -> dict[str, float]:
    """The conditions that are a number after this prefix, in increasing order."""
    found = {}
    for name in names:
        rest = name.removeprefix(prefix)
        if name.startswith(prefix) and rest.replace(".", "", 1).isdigit():
            found[name] = float(rest)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _draw(axes: Axes, lines: Sequence[Line], places: dict[str, float]) -> None:
    """A line per model, with bars of one standard deviation over the seeds."""
    for (model,), seeds in grouped(lines, "model").items():
        for suffix, rescaled in variants(seeds):
            name = f"{model}{suffix}"
            if name not in _STYLES:
                continue
            cells = [one for one in by_condition(seeds, list(places), rescaled)
                     if isinstance(one, Spread)]  # fmt: skip
            color, style = _STYLES[name]
            axes.errorbar(
                list(places.values()), [one.mean for one in cells],
                [one.deviation or 0.0 for one in cells], color=color, linestyle=style,
                linewidth=1.5, elinewidth=0.8, marker="o", markersize=3, label=plain(name),
            )  # fmt: skip
    axes.set(xscale="log", ylim=(-0.03, 1.05))
    ticks = list(places.values())
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
    axes.minorticks_off()


def _legend(figure: Figure, columns: int) -> None:
    """One legend for all axes, above them."""
    entries = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    if entries:
        figure.legend(
            list(entries.values()), list(entries), frameon=False, fontsize=8,
            loc="outside upper left", ncols=columns,
        )  # fmt: skip


def morse(lines: Sequence[Line]) -> Chart:
    """Accuracy by repeats of a bit."""
    figure, ((axes,),) = figures.new_figure(1, 1, 6.4, 4.4)
    _morse(axes, lines)
    _legend(figure, columns=3)
    description = "Accuracy on Morse code against the number of repeats of a bit, trained with 10."
    return Chart("Morse code", description, figure)


def _morse(axes: Axes, lines: Sequence[Line]) -> None:
    _draw(axes, lines, _numbered(conditions(lines), ""))
    axes.axvline(10, color="0.8", linewidth=4, zorder=0)
    figures.finish(axes, "Morse code", "repeats of a bit (10 in training)", "accuracy")


def _speech(axes: Axes, lines: Sequence[Line], prefix: str, title: str) -> None:
    names = conditions(lines)
    places = _numbered(names, prefix) | {"trained": 1.0}
    _draw(axes, lines, dict(sorted(places.items(), key=lambda item: item[1])))
    axes.axvline(1, color="0.8", linewidth=4, zorder=0)
    figures.finish(axes, title, "speed (1 in training)", "accuracy")


def speech(lines: Sequence[Line]) -> list[Chart]:
    """Accuracy by speed and by tempo, one chart per sampling rate and split."""
    charts = []
    for (rate, split), some in _sets(lines).items():
        figure, ((left, right),) = figures.new_figure(1, 2, 9.2, 4.4)
        _speech(left, some, "speed ", "other speed")
        _speech(right, some, "tempo ", "other tempo, same pitch")
        _legend(figure, columns=4)
        title = f"Spoken digits at {rate / 1000:g} kHz, split by {split}"
        charts.append(Chart(title, f"{title}: accuracy against the speed.", figure))
    return charts


def _sets(lines: Sequence[Line]) -> dict[tuple, list[Line]]:
    found: dict[tuple, list[Line]] = {}
    for line in lines:
        found.setdefault((line["rate"], line["split"]), []).append(line)
    return found


def picture(heard: Sequence[Line], spoken: Sequence[Line]) -> Figure:
    """Morse code and, where it was measured, spoken digits, side by side."""
    sets = list(_sets(spoken).values())[:1]
    figure, (row,) = figures.new_figure(1, 1 + len(sets), 6.4 if not sets else 9.6, 4.4)
    _morse(row[0], heard)
    for axes, some in zip(row[1:], sets, strict=True):
        _speech(axes, some, "speed ", "spoken digits, raw waveform")
    _legend(figure, columns=3 if not sets else 4)
    return figure


def main() -> None:
    folder = code.ROOT / "results"
    heard, spoken = (read_experiment(folder, name) or [] for name in ("morse", "speech"))
    path = code.ROOT / "docs" / "images" / "speed.png"
    picture(heard, spoken).savefig(path, dpi=160)
    print(path.relative_to(code.ROOT))


if __name__ == "__main__":
    main()
