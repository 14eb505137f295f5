"""The experiments as tables: mean and sample standard deviation over the seeds.

Cells at chance level are never marked as the best: an accuracy not above that of the most frequent
class by two standard errors of 1,000 examples, an error not 3 % below that of the mean, and a loss
not below that of equal probabilities, the logarithm of the number of classes.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fractal.report.table import Cell, Goal, Spread, Table, spread, value

from .results import Line, stale_note

_MOST_AGES = 6  # columns of the tables on recall; their charts have all ages
_TRAINED: Mapping[str, Goal] = {
    "early loss": "lowest",
    "late loss": "lowest",
    "test accuracy": "highest",
}
_KNOWN = (
    *("listops", "text", "retrieval", "image", "pathfinder", "pathx", "smnist", "psmnist"),
    *("normal", "fractional", "published", "published spectrum"),
    *("fractal", "fractal, learned α", "fractal, single learned α"),
    *("fractal, scale-invariant", "fractal, scale-invariant, single block"),
    *("fractal, scale-invariant, selective", "fractal, scale-invariant, path", "fractal, uniform"),
    *("fractal, uniform, selective", "fractal, uniform, path"),
    *("s5", "s5, resampled", "s4", "s4d", "dss", "lmu", "transformer", "performer", "sithcon"),
    *("ar", "random B", "log-mel, logistic regression", "fixed", "selective"),
    *("selective copying", "induction heads", "recordings", "speakers"),
    *("uniform", "scale-invariant", "0.05", "0.5", "0.9", "bank", "learned"),
    *("bidirectional", "causal", "mean", "last"),
)
_RESCALED = ", rescaled Δ"
# Test accuracy of the most frequent class of the mini tasks.
CHANCE = {
    "listops": 0.132, "text": 0.5, "retrieval": 0.5, "image": 0.1, "pathfinder": 0.497,
    "smnist": 0.1135, "psmnist": 0.1135,
}  # fmt: skip
_CLASSES = {
    "listops": 10, "text": 2, "retrieval": 2, "image": 10, "pathfinder": 2, "pathx": 2,
    "smnist": 10, "psmnist": 10,
}  # fmt: skip
_TESTED = 1000  # examples of the smallest test set
_TENTHS = "Early and late loss: training loss over the first and the last tenth of the steps."


def command(name: str) -> str:
    """The command that writes results/NAME.jsonl."""
    return f"python -m experiments.{name}"


def grouped(lines: Sequence[Line], *names: str) -> dict[tuple, list[Line]]:
    """Lines by the values of these fields, sorted, with one line per seed.

    Of repeated runs the last line counts.
    """
    runs = {(*(_key(line[name]) for name in names), line["seed"]): line for line in lines}
    # Known names have a fixed order; others follow, sorted.
    ranks = [
        {value: rank for rank, value in enumerate(dict.fromkeys((*_KNOWN, *sorted(column))))}
        for column in zip(*runs, strict=True)
    ]
    found: dict[tuple, list[Line]] = {}
    for key in sorted(runs, key=lambda key: [r[v] for r, v in zip(ranks, key, strict=True)]):
        found.setdefault(key[:-1], []).append(runs[key])
    return found


def _key(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def over(lines: Sequence[Line], name: str) -> Spread:
    """Mean and deviation of a field over the seeds."""
    return spread(line[name] for line in lines)


def accuracy_at_chance(cell: Cell, task: str) -> bool:
    """Whether an accuracy is not clearly above that of the most frequent class."""
    chance = CHANCE.get(task, 0.0)
    deviation = cell.deviation if isinstance(cell, Spread) else None
    noise = 2 * math.sqrt(chance * (1 - chance) / _TESTED)
    return value(cell) <= chance + max(noise, deviation or 0.0)


def at_chance(
    header: Sequence[str], rows: Sequence[tuple], columns: Iterable[str], task: str | None = None
) -> frozenset[tuple[int, int]]:
    """The cells of these columns with accuracies at chance level.

    The task is given, or stands in a column of the table.
    """
    places = [list(header).index(name) for name in columns]
    where = None if task is not None else list(header).index("task")
    return frozenset(
        (line, column)
        for line, row in enumerate(rows)
        for column in places
        if accuracy_at_chance(row[column], str(row[where]) if where is not None else task or "")
    )


def trained_at_chance(header: Sequence[str], rows: Sequence[tuple]) -> frozenset[tuple[int, int]]:
    """The cells of `_TRAINED` at chance level, in a table with a column for the task."""
    where = list(header).index("task")
    losses = [list(header).index(name) for name in ("early loss", "late loss")]
    return at_chance(header, rows, ("test accuracy",)) | frozenset(
        (line, column)
        for line, row in enumerate(rows)
        for column in losses
        if loss_at_chance(row[column], str(row[where]))
    )


def loss_at_chance(cell: Cell, task: str) -> bool:
    """Whether a loss is not below that of equal probabilities by its standard deviation."""
    deviation = cell.deviation if isinstance(cell, Spread) else None
    return value(cell) + (deviation or 0.0) >= math.log(_CLASSES.get(task, math.inf))


def errors_at_chance(
    header: Sequence[str], rows: Sequence[tuple], columns: Iterable[str]
) -> frozenset[tuple[int, int]]:
    """The cells of these columns with errors hardly below those of the mean, which are 1."""
    places = [list(header).index(name) for name in columns]
    return frozenset(
        (line, column)
        for line, row in enumerate(rows)
        for column in places
        if value(row[column]) > 1 - max(0.03, getattr(row[column], "deviation", None) or 0.0)
    )


def _count(lines: Sequence[Line]) -> int | None:
    """Parameter count; None where it is not known."""
    mean = over(lines, "parameters").mean
    return None if math.isnan(mean) else round(mean)


def _trained(lines: Sequence[Line]) -> tuple[Spread, ...]:
    return tuple(over(lines, name) for name in ("early_loss", "late_loss", "test_accuracy"))


def recall(lines: Sequence[Line]) -> list[Table]:
    """Error by age, one table per signal."""
    tables: dict[tuple, list[tuple]] = {}
    for (signal, order, ages, memory), seeds in grouped(
        lines, "signal", "order", "ages", "memory"
    ).items():
        bins = len(ages) - 1
        chosen = np.unique(np.linspace(0, bins - 1, min(bins, _MOST_AGES)).round().astype(int))
        errors = (spread(line["error"][i] for line in seeds) for i in chosen)
        heads = tuple(f"{ages[i]:.2g} … {ages[i + 1]:.2g}" for i in chosen)
        row = (memory, len(seeds), *errors)
        tables.setdefault((signal, order, heads), []).append(row)
    return [
        Table(
            f"Recall of {signal}, N = {order:g}: error by relative age, in standard deviations of "
            "the signal",
            ("memory", "seeds", *heads),
            rows,
            command("recall"),
            stale_note("recall", lines),
            best=dict.fromkeys(heads, "lowest"),
            chance=errors_at_chance(("memory", "seeds", *heads), rows, heads),
        )
        for (signal, order, heads), rows in tables.items()
    ]


def chosen_ranges(lines: Sequence[Line]) -> list[tuple[Line, list[Line], int]]:
    """Per task and initialization: a line of the best range of Δ, all its seeds, ranges tried.

    The best range has the highest validation accuracy with the first seed, with which all ranges
    were tried; of equal ones the one with the longest Δ.
    """
    found: dict[tuple, list[list[Line]]] = {}
    names = ("task", "init", "steps", "dt_min", "dt_max")
    for (task, init, steps, *_), seeds in grouped(lines, *names).items():
        found.setdefault((task, init, steps), []).append(seeds)
    chosen = []
    for ranges in found.values():
        firsts = [min(seeds, key=lambda line: line["seed"]) for seeds in ranges]
        scores = [(_or_lowest(x["validation_accuracy"]), x["dt_max"]) for x in firsts]
        best = scores.index(max(scores))
        chosen.append((firsts[best], ranges[best], len(ranges)))
    return chosen


def _or_lowest(score: float) -> float:
    return -math.inf if math.isnan(score) else score


def _or_none(x: float) -> float | None:
    return None if math.isnan(x) else x


def initialization(lines: Sequence[Line]) -> Table:
    """Losses and accuracy of each initialization with its own best range of Δ."""
    rows = [
        (
            line["task"],
            line["init"],
            f"{line['dt_min']:.1e} … {line['dt_max']:g}",
            ranges,
            _count(seeds),
            line["steps"],
            len(seeds),
            *_trained(seeds),
        )
        for line, seeds, ranges in chosen_ranges(lines)
    ]
    header = (
        "task", "initialization", "Δ", "ranges tried", "parameters", "steps", "seeds", *_TRAINED,
    )  # fmt: skip
    return Table(
        "Initializations",
        header,
        rows,
        command("initialization"),
        "Each with the range of Δ of best validation accuracy with the first seed. "
        f"{_TENTHS} {stale_note('initialization', lines)}",
        _TRAINED,
        ("task", "steps"),
        chance=trained_at_chance(header, rows),
    )


def filter_bank(lines: Sequence[Line]) -> Table:
    """A single α, a bank of several, and learned α, with both clocks."""
    rows = [
        (task, clock, bank, steps, len(seeds), *_trained(seeds), learned(seeds))
        for (task, clock, bank, steps), seeds in grouped(
            lines, "task", "clock", "bank", "steps"
        ).items()
    ]
    header = ("task", "clock", "α", "steps", "seeds", *_TRAINED, "learned α")
    return Table(
        "A single α, a bank of several, or learned α",
        header,
        rows,
        command("filter_bank"),
        f"Learned α: smallest … largest of all layers and seeds after training. {_TENTHS} "
        f"{stale_note('filter_bank', lines)}",
        _TRAINED,
        ("task", "clock", "steps"),
        chance=trained_at_chance(header, rows),
    )


def learned(lines: Sequence[Line]) -> str | None:
    """Smallest and largest learned α."""
    alphas = [alpha for line in lines for alpha in line["alphas"] or []]
    return f"{min(alphas):.2f} … {max(alphas):.2f}" if alphas else None


def clock(lines: Sequence[Line]) -> dict[str, Table]:
    """Accuracy at other sampling rates than in training, one table per task."""
    tables = {}
    keys = ("task", "direction", "pooling", "model", "steps")
    for task, groups in itertools.groupby(grouped(lines, *keys).items(), lambda item: item[0][0]):
        groups = list(groups)
        names = _rates(line["accuracy"] for _, seeds in groups for line in seeds)
        rows = []
        for (_, direction, pooling, model, steps), seeds in groups:
            cells = [
                [x["accuracy"][name] for x in seeds if name in x["accuracy"]] for name in names
            ]
            scores = (spread(cell) if cell else None for cell in cells)
            rows.append((model, direction, pooling, _count(seeds), steps, len(seeds), *scores))
        header = ("model", "direction", "pooling", "parameters", "steps", "seeds", *names)
        tables[task] = Table(
            f"{task}: test accuracy at other sampling rates than in training",
            header,
            rows,
            command("clock"),
            "At most 1,000 test examples. Rescaled Δ: the step size is multiplied by the known "
            f"factor. {stale_note('clock', [line for _, seeds in groups for line in seeds])}",
            dict.fromkeys(names, "highest"),
            ("direction", "pooling", "steps"),
            chance=at_chance(header, rows, names, task),
        )
    return tables


def _rates(scores: Iterable[Mapping[str, float]]) -> list[str]:
    """All rates, each followed by the one with rescaled Δ."""
    names = list(dict.fromkeys(name for one in scores for name in one))
    bare = list(dict.fromkeys(name.removesuffix(_RESCALED) for name in names))
    return sorted(names, key=lambda name: (bare.index(name.removesuffix(_RESCALED)), name))


def models(lines: Sequence[Line]) -> Table:
    """All models on the mini tasks, and the trivial baselines."""
    rows = [
        (
            task,
            model,
            steps,
            _count(seeds),
            len(seeds),
            *_trained(seeds),
            _or_none(over(seeds, "chance").mean),
            _or_none(over(seeds, "bag").mean),
            over(seeds, "seconds"),
        )
        for (task, model, steps), seeds in grouped(lines, "task", "model", "steps").items()
    ]
    trivial = ("most frequent class", "bag of tokens")
    header = (
        "task", "model", "steps", "parameters", "seeds", *_TRAINED, *trivial, "seconds",
    )  # fmt: skip
    return Table(
        "All models on the mini tasks: same data and steps, matched parameter count",
        header,
        rows,
        command("models"),
        f"{_TENTHS} {stale_note('models', lines)}",
        _TRAINED,
        ("task", "steps"),
        chance=trained_at_chance(header, rows),
    )


def long_memory(lines: Sequence[Line]) -> Table:
    """Forecasts of series with long memory, and the best linear predictor where it is known."""
    rows = []
    for (series, model), seeds in grouped(lines, "series", "model").items():
        cells = []
        for horizon in (1, 24):
            error, best = f"mse_{horizon}", f"best_{horizon}"
            ratio = [line[error] / line[best] for line in seeds if line[best] > 0]
            cells += [over(seeds, error), spread(ratio) if ratio else None]
        rows.append((series, model, _count(seeds), len(seeds), *cells, learned(seeds)))
    errors: Mapping[str, Goal] = {"error, 1 step": "lowest", "error, 24 steps": "lowest"}
    header = (
        "series", "model", "parameters", "seeds", "error, 1 step", "1 step ÷ best",
        "error, 24 steps", "24 steps ÷ best", "learned α",
    )  # fmt: skip
    return Table(
        "Forecasts of series with long memory: mean squared error after 300 steps",
        header,
        rows,
        command("long_memory"),
        "÷ best: relative to the error of the best linear predictor, which uses the known "
        "autocovariance of the series; there is none for household power. "
        f"{stale_note('long_memory', lines)}",
        errors,
        ("series",),
        chance=errors_at_chance(header, rows, tuple(errors)),
    )
