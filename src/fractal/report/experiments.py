"""The experiments as tables: mean and sample standard deviation over the seeds."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .results import Line
from .table import Goal, Spread, Table, spread

_MOST_AGES = 6  # columns of the table of recall; its chart has all ages
_TRAINED: Mapping[str, Goal] = {
    "early loss": "lowest",
    "late loss": "lowest",
    "test accuracy": "highest",
}
_KNOWN = (
    *("listops", "text", "retrieval", "image", "pathfinder", "pathx", "smnist", "psmnist"),
    *("normal", "fractional", "published", "published spectrum"),
    *("fractal", "fractal, learned", "fractal, one learned"),
    *("fractal, scale-invariant", "fractal, scale-invariant, one block", "fractal, uniform"),
    *("s5", "s4", "s4d", "dss", "lmu", "transformer", "performer", "ar", "random B"),
    *("uniform", "scale-invariant", "0.05", "0.5", "0.9", "bank", "learned"),
    *("bidirectional", "causal", "mean", "last"),
)
_TOLD = ", told"
_TENTHS = "Early and late loss: training loss over the first and the last tenth of the steps."


def command(name: str) -> str:
    """What writes results/NAME.jsonl."""
    return f"python -m experiments.{name}"


def grouped(lines: Sequence[Line], *names: str) -> dict[tuple, list[Line]]:
    """Lines by the values of these fields, sorted, with one for each seed.

    A run that was repeated counts once, with its last line.
    """
    runs = {(*(_key(line[name]) for name in names), line["seed"]): line for line in lines}
    # Runs end in any order. Known names have a fixed one; others come after, sorted.
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
    """A field over the seeds."""
    return spread(line[name] for line in lines)


def _count(lines: Sequence[Line]) -> int | None:
    """The number of parameters; None where a line does not know."""
    mean = over(lines, "parameters").mean
    return None if math.isnan(mean) else round(mean)


def _trained(lines: Sequence[Line]) -> tuple[Spread, ...]:
    return tuple(over(lines, name) for name in ("early_loss", "late_loss", "test_accuracy"))


def recall(lines: Sequence[Line]) -> list[Table]:
    """Error by age, a table for each signal."""
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
            best=dict.fromkeys(heads, "lowest"),
        )
        for (signal, order, heads), rows in tables.items()
    ]


def chosen_ranges(lines: Sequence[Line]) -> list[tuple[Line, list[Line], int]]:
    """For each task and initialization: a line of the best range of Δ, all its seeds, ranges tried.

    The best range is the one with the highest validation accuracy of its first seed, with which all
    ranges were tried; of equal ones that with the longest Δ.
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
    """How each initialization trains, with its own best range of Δ."""
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
        "How initializations train",
        header,
        rows,
        command("initialization"),
        "Each with the range of Δ that had the best validation accuracy with the first seed. "
        + _TENTHS,
        _TRAINED,
        ("task", "steps"),
    )


def filter_bank(lines: Sequence[Line]) -> Table:
    """One α, a bank of several, and learned ones, under both clocks."""
    rows = [
        (task, clock, bank, steps, len(seeds), *_trained(seeds), learned(seeds))
        for (task, clock, bank, steps), seeds in grouped(
            lines, "task", "clock", "bank", "steps"
        ).items()
    ]
    header = ("task", "clock", "α", "steps", "seeds", *_TRAINED, "learned α")
    return Table(
        "One α, a bank of several, or learned ones",
        header,
        rows,
        command("filter_bank"),
        f"Learned α: least … greatest of all layers and seeds at the end of training. {_TENTHS}",
        _TRAINED,
        ("task", "clock", "steps"),
    )


def learned(lines: Sequence[Line]) -> str | None:
    """Least and greatest α that training led to."""
    alphas = [alpha for line in lines for alpha in line["alphas"] or []]
    return f"{min(alphas):.2f} … {max(alphas):.2f}" if alphas else None


def clock(lines: Sequence[Line]) -> dict[str, Table]:
    """Accuracy at other sampling rates than the trained one, for each task."""
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
        tables[task] = Table(
            f"{task}: test accuracy when the sampling rate changes after training",
            ("model", "direction", "pooling", "parameters", "steps", "seeds", *names),
            rows,
            command("clock"),
            "Of at most 1,000 test examples. Told: Δ is rescaled by the known factor.",
            dict.fromkeys(names, "highest"),
            ("direction", "pooling", "steps"),
        )
    return tables


def _rates(scores: Iterable[Mapping[str, float]]) -> list[str]:
    """All names, with what a model was told of next to what it was not."""
    names = list(dict.fromkeys(name for one in scores for name in one))
    bare = list(dict.fromkeys(name.removesuffix(_TOLD) for name in names))
    return sorted(names, key=lambda name: (bare.index(name.removesuffix(_TOLD)), name))


def measured(lines: Sequence[Line]) -> Table:
    """All models on the mini tasks, beside the most frequent class and a bag of tokens."""
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
    yardsticks = ("most frequent class", "bag of tokens")
    header = (
        "task", "model", "steps", "parameters", "seeds", *_TRAINED, *yardsticks, "seconds",
    )  # fmt: skip
    return Table(
        "All models on the mini tasks: same data, steps and number of parameters",
        header,
        rows,
        command("table"),
        _TENTHS,
        _TRAINED,
        ("task", "steps"),
    )


def long_memory(lines: Sequence[Line]) -> Table:
    """Forecasts of series with long memory, beside the best linear predictor where it is known."""
    rows = []
    for (series, model), seeds in grouped(lines, "series", "model").items():
        cells = []
        for horizon in (1, 24):
            error, best = f"mse_{horizon}", f"best_{horizon}"
            ratio = [line[error] / line[best] for line in seeds if line[best] > 0]
            cells += [over(seeds, error), spread(ratio) if ratio else None]
        rows.append((series, model, _count(seeds), len(seeds), *cells, learned(seeds)))
    errors: Mapping[str, Goal] = {"error, 1 step": "lowest", "error, 24 steps": "lowest"}
    return Table(
        "Forecasts of series with long memory: mean squared error",
        (
            "series", "model", "parameters", "seeds", "error, 1 step", "1 step ÷ best",
            "error, 24 steps", "24 steps ÷ best", "learned α",
        ),
        rows,
        command("long_memory"),
        "÷ best: relative to the error of the best linear predictor, which knows the law of the "
        "series; real series have none.",
        errors,
        ("series",),
    )  # fmt: skip
