"""The slider over α: measure, spectrum and recall, drawn once with a frame per value of α.

Each figure contains the artists of all values, marked by their gid; the page shows those of one.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ... import theory
from ..._memory import OnlineMemory
from ..recall import AGE_LABELS, brownian, error_by_age, sample_ages
from .figures import BLUE, GRAY, VERMILION, finish, new_figure
from .svg import FRAME

ALPHAS = tuple(round(0.05 * k, 2) for k in range(19))
START = 0.5  # the value shown first
ORDER, LENGTH, POINTS = 64, 30_000, 160
RECENT = 0.002  # share of the history that has a panel of its own


class Recalled(NamedTuple):
    """A signal, and per α the signal as recalled and the error by age band."""

    signal: Float[np.ndarray, " time"]
    values: dict[float, Float[np.ndarray, " time"]]
    errors: dict[float, Float[np.ndarray, " bands"]]


def recalled(alphas: tuple[float, ...] = ALPHAS) -> dict[str, Recalled]:
    """All signals by name. Errors are in standard deviations of the signal."""
    named = signals()
    u = np.stack(list(named.values()), axis=1)
    ages = sample_ages(LENGTH)
    found = {a: OnlineMemory(a, ORDER, channels=len(named)).push(u).recall(ages) for a in alphas}
    errors = {a: error_by_age((values - u) / u.std(axis=0)) for a, values in found.items()}
    return {
        name: Recalled(
            u[:, channel],
            {alpha: values[:, channel] for alpha, values in found.items()},
            {alpha: bands[:, channel] for alpha, bands in errors.items()},
        )
        for channel, name in enumerate(named)
    }


def signals() -> dict[str, Float[np.ndarray, " time"]]:
    """A path that is rough at every scale, one with jumps, and white noise."""
    rng = np.random.default_rng(1)
    heights = rng.standard_normal(9)
    # Jumps at ages that are evenly spaced on a logarithmic axis.
    jumps = np.geomspace(3e-4, 0.5, 8)
    steps = heights[np.searchsorted(jumps, sample_ages(LENGTH))]
    noise = rng.standard_normal(LENGTH)
    return {"Brownian path": brownian(LENGTH, 1, seed=3)[:, 0], "jumps": steps, "noise": noise}


def _frame(axes: Axes, alpha: float, x: np.ndarray, y: np.ndarray, style: str, **options) -> None:
    gid = f"{FRAME}{alpha:.2f}{' now' if alpha == START else ''}"
    axes.plot(x, y, style, color=VERMILION, gid=gid, **options)


def measure_figure(alphas: tuple[float, ...] = ALPHAS) -> Figure:
    """The density of the measure against relative age."""
    figure, ((axes,),) = new_figure(1, 1, 4.8, 3.2)
    ages = np.geomspace(1e-4, 1, 60)
    axes.plot(ages, theory.LegS().density(1.0, 1 - ages), "--", color=BLUE, label="LegS")
    for alpha in alphas:
        density = np.asarray(theory.Fractional(alpha).density(1.0, 1 - ages))
        _frame(axes, alpha, ages, density, "-", linewidth=2)
    axes.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(0.05, 500))
    return _labeled(figure, axes, "relative age (1: the start)", "density")


def spectrum_figure(alphas: tuple[float, ...] = ALPHAS) -> Figure:
    """The eigenvalues of the operator, one of each conjugate pair."""
    figure, ((axes,),) = new_figure(1, 1, 4.8, 3.2)
    legs = theory.published_spectrum(0.0, ORDER).eigenvalues
    axes.plot(legs, np.zeros(ORDER), "|", color=BLUE, label="LegS")
    for alpha in alphas:
        found = eigenvalues(alpha)
        _frame(axes, alpha, np.real(found), np.imag(found), ".", markersize=6)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set(xlim=(0.4, 1e5), ylim=(-0.3, 2000))
    return _labeled(figure, axes, "Re λ: decay", "Im λ: oscillation")


def eigenvalues(alpha: float) -> np.ndarray:
    """Of the fractional operator; at α = 0 it is LegS, whose eigenvalues are known exactly."""
    if alpha == 0:
        return theory.published_spectrum(0.0, ORDER).eigenvalues
    found = theory.diagonalize(theory.operator(theory.Fractional(alpha), ORDER)).eigenvalues
    return found[np.imag(found) >= 0]


def recall_figure(one: Recalled, share: float = 1.0) -> Figure:
    """The most recent `share` of a signal and its recall; the newest sample is at the right."""
    figure, ((axes,),) = new_figure(1, 1, 4.8, 3.2)
    first = round((1 - share) * LENGTH)
    shown = np.unique(np.linspace(first, LENGTH - 1, POINTS).round().astype(int))
    ages = sample_ages(LENGTH)[shown]
    axes.plot(ages, one.signal[shown], color=GRAY, linewidth=1, label="signal")
    legs = one.values[0.0][shown]
    axes.plot(ages, legs, "--", color=BLUE, linewidth=1.2, label="LegS")
    for alpha, values in one.values.items():
        _frame(axes, alpha, ages, values[shown], "-", linewidth=1.8)
    # The same limits for all α: only the line moves, and far excursions are cut off.
    both = np.concatenate([one.signal[shown], legs])
    margin = 0.1 * np.ptp(both)
    axes.locator_params(axis="x", nbins=5)
    axes.set(xlim=(share, 0.0), ylim=(both.min() - margin, both.max() + margin))
    return _labeled(figure, axes, "relative age (0: now)", "value")


def _labeled(figure: Figure, axes: Axes, x: str, y: str) -> Figure:
    axes.plot([], [], color=VERMILION, linewidth=2, label="chosen α")
    finish(axes, "", x, y)
    figure.legend(frameon=False, fontsize=8, loc="outside upper left", ncols=3)
    return figure


def summary(one: Recalled, alpha: float) -> str:
    """A sentence on the weight of the recent past and on the recall error."""
    recent = {a: f"{theory.Fractional(a).recent_share(0.1):.0%}" for a in (alpha, 0.0)}
    bands = [
        f"{one.errors[alpha][band]:.2g} (LegS {one.errors[0.0][band]:.2g}) at ages {label}"
        for band, label in enumerate(AGE_LABELS)
        if band in (0, 1, len(AGE_LABELS) - 1)
    ]
    return (
        f"The most recent tenth of the history has {recent[alpha]} of the weight (LegS "
        f"{recent[0.0]}). Recall error in standard deviations of the signal: {', '.join(bands)}."
    )
