"""Learning curves of several models."""

import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from .charts import colors, plain
from .figures import finish, new_figure

Curve = tuple[Sequence[int], Sequence[float]]  # steps and values
_MOST_POINTS = 100


def learning_curves(
    curves: Mapping[str, Sequence[Curve]],
    title: str,
    label: str = "training loss",
    known: Mapping[str, str] | None = None,
) -> Figure:
    """Values against the step, per model: mean over the seeds, with their range as a band.

    Seeds are averaged at the steps that all of them have reached.
    """
    figure, ((axes,),) = new_figure(1, 1, 4.8, 3.4)
    for (name, color), runs in zip(colors(curves, known).items(), curves.values(), strict=True):
        found = [dict(zip(*run, strict=True)) for run in runs]
        steps = sorted(set(found[0]).intersection(*found[1:])) if found else []
        if not steps:
            continue
        chosen = np.unique(np.linspace(0, len(steps) - 1, _MOST_POINTS).round().astype(int))
        steps = [steps[index] for index in chosen]
        values = np.array([[one[step] for step in steps] for one in found], float)
        marker = "." if len(steps) < 12 else ""
        axes.plot(steps, values.mean(axis=0), marker=marker, color=color, label=plain(name))
        if len(found) > 1:
            low, high = values.min(axis=0), values.max(axis=0)
            axes.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
    finish(axes, title, "step", label)
    if axes.lines:
        figure.legend(frameon=False, fontsize=8, loc="outside upper left", ncols=2)
    return figure


def draw_curves(curves: Mapping[str, Sequence[Curve]], title: str, path: pathlib.Path) -> None:
    """Write the training losses of a comparison as a picture."""
    learning_curves(curves, title).savefig(path, dpi=150)
