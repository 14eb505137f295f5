"""The classifier compared with others: accuracy, ranks, sampling rates, calibration."""

import math
from collections.abc import Sequence

import numpy as np
import scipy.stats

from fractal.report.table import Cell, Goal, Table, spread, value

from .results import Line, stale_note
from .summaries import command, grouped

RATES = (
    "training rate",
    "2×",
    "2×, with times",
    "4×",
    "4×, with times",
    "1/2×",
    "1/2×, with times",
)
DEFAULTS = ("fractal", "filter features")
OURS = (
    *("fractal", "fractal, scale-invariant", "memory features"),
    *("filter features", "filter features, scale-invariant"),
)
_COMMAND = command("own_series")


def tables(lines: Sequence[Line]) -> list[Table]:
    """All tables of the experiment."""
    return [accuracy(lines), ranks(lines), lost(lines), rates(lines), calibration(lines)]


def accuracy(lines: Sequence[Line]) -> Table:
    """Test accuracy: a row per data set, a column per method."""
    groups = grouped(lines, "data", "method")
    sets = list(dict.fromkeys(line["data"] for line in lines))
    methods = list(dict.fromkeys(line["method"] for line in lines))
    rows: list[tuple[Cell, ...]] = [
        (name, *(_score(groups.get((name, method), [])) for method in methods)) for name in sets
    ]
    # The best of a row is marked, so the table is transposed for marking by column.
    best: dict[str, Goal] = dict.fromkeys(sets, "highest")
    turned = [
        (method, *(row[place] for row in rows)) for place, method in enumerate(methods, start=1)
    ]
    return Table(
        "Test accuracy on the published splits, with default settings",
        ("method", *sets),
        turned,
        _COMMAND,
        "Mean ± standard deviation over the seeds that were run; –: not run, or the method does "
        f"not take series of unequal length. {stale_note('own_series', lines)}",
        best,
    )


def ranks(lines: Sequence[Line]) -> Table:
    """Mean rank of each method over the data sets on which all methods of the table were run."""
    table = accuracy(lines)
    scores = np.array([[value(cell) for cell in row[1:]] for row in table.rows], float)
    methods = [str(row[0]) for row in table.rows]
    equal = [place for place in range(scores.shape[1]) if np.isfinite(scores[:, place]).all()]
    rows: list[tuple[Cell, ...]] = []
    if equal:
        found = scipy.stats.rankdata(-scores[:, equal], axis=0)
        rows = [
            (method, float(found[i].mean()), int((found[i] == found.min(axis=0)).sum()),
             float(scores[i, equal].mean()))
            for i, method in enumerate(methods)
        ]  # fmt: skip
        rows.sort(key=lambda row: value(row[1]))
    return Table(
        f"Mean rank over the {len(equal)} data sets on which every method was run (1 is best)",
        ("method", "mean rank", "best or tied", "mean accuracy"),
        rows,
        _COMMAND,
        best={"mean rank": "lowest"},
    )


def lost(lines: Sequence[Line]) -> Table:
    """The library's methods with default settings beside the best other method of each data set."""
    table = accuracy(lines)
    scores = {str(row[0]): [value(cell) for cell in row[1:]] for row in table.rows}
    rows: list[tuple[Cell, ...]] = []
    for place, data in enumerate(table.header[1:]):
        ours = [scores[name][place] if name in scores else math.nan for name in DEFAULTS]
        others = {n: s[place] for n, s in scores.items() if n not in OURS and s[place] >= 0}
        if others:
            best = max(others, key=lambda name: others[name])
            differences = (_signed(own - others[best]) for own in ours)
            rows.append((data, best, others[best], *differences))
    return Table(
        "Where the classifier and the filters win and lose",
        ("data", "best other method", "accuracy", *(f"{name}, difference" for name in DEFAULTS)),
        rows,
        _COMMAND,
        "The best other method is chosen by its test accuracy; ours have default settings.",
    )


def rates(lines: Sequence[Line]) -> Table:
    """Test accuracy of the classifiers at other sampling rates, without retraining."""
    rows: list[tuple[Cell, ...]] = []
    for (data, method), seeds in grouped(lines, "data", "method").items():
        cells = [_score(seeds, rate) for rate in RATES]
        if any(cell is not None for cell in cells[1:]):
            rows.append((data, method, *cells))
    best: dict[str, Goal] = dict.fromkeys(RATES, "highest")
    return Table(
        "Test accuracy at other sampling rates, without retraining",
        ("data", "method", *RATES),
        rows,
        _COMMAND,
        "2× and 4×: linear interpolation; 1/2×: means of two samples. MiniROCKET and ROCKET take "
        "series of the training length only.",
        best,
        ("data",),
    )


def calibration(lines: Sequence[Line]) -> Table:
    """Log loss and calibration error of the probabilities."""
    rows: list[tuple[Cell, ...]] = []
    for (data, method), seeds in grouped(lines, "data", "method").items():
        losses = [line["log_loss"] for line in seeds]
        if all(map(math.isfinite, losses)):
            errors = [line["calibration_error"] for line in seeds]
            rows.append((data, method, len(seeds), spread(losses), spread(errors)))
    return Table(
        "Calibration of predict_proba on the test sets",
        ("data", "method", "seeds", "log loss", "calibration error"),
        rows,
        _COMMAND,
        "Calibration error: mean of |accuracy − probability| of the predicted class over ten bins.",
    )


def training_cases(lines: Sequence[Line]) -> Table:
    """A row per data set and number of training cases: the network beside the filters."""
    methods = sorted({line["method"] for line in lines}, reverse=True)  # the network first
    shown = {"accuracy": "accuracy", "log loss": "log_loss", "seconds of the fit": "fit_seconds"}
    found = grouped(lines, "data", "cases", "method")
    rows: list[tuple[Cell, ...]] = []
    for data, cases in dict.fromkeys(key[:2] for key in found):
        own = [found.get((data, cases, method)) for method in methods]
        cells = [one and one[0][name] for name in shown.values() for one in own]
        rows.append((data, cases, *cells))
    rows.sort(key=lambda row: (str(row[0]), value(row[1])))
    return Table(
        "The trained network and the filters by number of training cases",
        ("data", "cases", *(f"{name}, {method}" for name in shown for method in methods)),
        rows,
        command("training_cases"),
        "Test accuracy and log loss, of MNIST on 2,000 test images; default settings, one seed; "
        "CPU seconds of one core of a "
        f"shared machine. {stale_note('training_cases', lines)}".strip(),
    )


def _signed(difference: float) -> Cell:
    return f"{difference:+.3f}" if math.isfinite(difference) else None


def _score(seeds: Sequence[Line], rate: str = RATES[0]) -> Cell:
    found = [line["accuracy"].get(rate, math.nan) for line in seeds]
    return spread(found) if found and all(map(math.isfinite, found)) else None
