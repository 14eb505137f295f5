"""Learning curves of several models."""

import pathlib
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from .figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, finish

_COLORS = (VERMILION, BLUE, GREEN, SKY, ORANGE, PURPLE, BLACK, GREY)


def draw_curves(
    curves: Mapping[str, Sequence[tuple[Sequence[int], Sequence[float]]]],
    title: str,
    path: pathlib.Path,
) -> None:
    """Training loss against the step: the mean over the seeds, and their range as a band."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for (name, runs), color in zip(curves.items(), _COLORS, strict=False):
        steps, losses = runs[0][0], np.array([loss for _, loss in runs])
        axes.plot(steps, losses.mean(axis=0), color=color, label=name)
        low, high = losses.min(axis=0), losses.max(axis=0)
        axes.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
    finish(axes, title, "step", "training loss")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
