"""The tables of the README, docs/results.md and docs/lra.md, made from results/ and benchmarks/.

`python -m experiments.tables` writes them anew, each between `<!-- NAME -->` and `<!-- /NAME -->`.
A test compares them with what it would write.
"""

import json
import re
from collections.abc import Callable, Sequence

from fractal.report import arena, experiments
from fractal.report.results import Line, read_experiment
from fractal.report.table import Cell, Goal, Table, markdown

from . import runs

PAGES = ("README.md", "docs/results.md", "docs/lra.md")


def lines(name: str) -> list[Line]:
    """What an experiment has found."""
    return read_experiment(runs.ROOT / "results", name) or []


def headline() -> Table:
    """The memory and the speed, in a few figures."""
    claims = json.loads((runs.ROOT / "results" / "verify.json").read_text())["claims"]
    value = {claim["statement"]: claim["value"] for claim in claims}
    verdicts = [claim["verdict"] for claim in claims]
    sharper = value["α = 0.9 sees the present (ages < 1e-4) more sharply than LegS"]
    far = value["… and the far past (ages > 0.1) as well as LegS"]
    memory, layer = (
        json.loads((runs.ROOT / "benchmarks" / f"{name}.json").read_text())
        for name in ("memory", "layer")
    )
    one = memory["microseconds_per_sample"]["one by one"]["median"]
    dense = [memory[f"times_faster_than_dense_{way}"] for way in ("prepared", "solving")]

    def both(name: str, after: str = "") -> str:
        return " / ".join(f"{layer[name][way]:.1f} ×" for way in _PASSES) + after

    rows: list[tuple[Cell, ...]] = [
        (
            "claims of the paper that hold / do not",
            f"{verdicts.count('confirmed')} / {verdicts.count('refuted')}",
            "fractal verify",
        ),
        ("sharper than LegS at ages < 1e-4 (Brownian, N = 64)", f"{sharper:.1f} ×", _VERIFY),
        ("error at ages > 0.1, relative to LegS", f"{far:.3f} ×", _VERIFY),
        (
            "memory in blocks of 10,000, N = 64",
            f"{memory['samples_per_second'] / 1e6:.0f} million samples/s",
            _MEMORY,
        ),
        (
            "… against HiPPO's dense update, matrices prepared beforehand / solved each step",
            " / ".join(f"{ratio:.0f} ×" for ratio in dense),
            _MEMORY,
        ),
        ("one sample at a time", f"{one:.0f} µs", _MEMORY),
        (
            "`FractalSSM` against its two matrix products alone, forward / with gradients",
            both("times_the_limit"),
            _LAYER,
        ),
        ("… against S5's way of scanning, in JAX", both(_S5, " faster"), _LAYER),
        ("… against s5-pytorch on CPU", both(_TORCH, " faster"), _LAYER),
    ]
    coded = [(what, found, f"`{command}`") for what, found, command in rows]
    return Table("", ("", "measured", "command"), coded, "")


_PASSES = ("forward", "forward + backward")
_VERIFY, _MEMORY, _LAYER = "fractal verify", "fractal bench memory", "fractal bench layer"
_S5, _TORCH = "times_faster_than_s5s_way", "times_faster_than_s5_pytorch"


def models() -> Table:
    """Test accuracy of all models on all tasks, beside what is easily reached, and the budget."""
    found = lines("table")
    table = _by_task(found, lambda seeds: experiments.over(seeds, "test_accuracy"))
    runs_of = [[line for line in found if line["task"] == task] for task in table.header[1:]]
    for name, field in (("bag of tokens", "bag"), ("most frequent class", "chance")):
        table.rows.append((name, *(f"{run[0][field]:.3f}" for run in runs_of)))
    for field in ("steps", "examples", "parameters", "seconds"):
        name = "seconds on one core" if field == "seconds" else field
        table.rows.append((name, *(arena.extent(run, field) for run in runs_of)))
    return table


def _by_task(found: Sequence[Line], score: Callable[[list[Line]], Cell]) -> Table:
    """A row for each model, a column for each task."""
    groups = experiments.grouped(found, "task", "model")
    tasks = tuple(dict.fromkeys(task for task, _ in groups))
    rows: list[tuple[Cell, ...]] = [
        (
            model,
            *(score(groups[task, model]) if (task, model) in groups else None for task in tasks),
        )
        for model in dict.fromkeys(model for _, model in groups)
    ]
    return Table("", ("", *tasks), rows, "", best=dict.fromkeys(tasks, "highest"))


_RATES = (
    *("as trained", "repeated 2", "repeated 4", "repeated 4, told"),
    *("averaged 0.5", "averaged 0.5, told", "subsampled 0.5", "subsampled 0.5, told", "warped"),
)
_FEW_RATES = ("as trained", "repeated 4", "repeated 4, told", "averaged 0.5", "averaged 0.5, told")


def _rates(found: Sequence[Line], *keys: str, names: Sequence[str] = _RATES) -> Table:
    """Test accuracy at the named rates, for all models by themselves within `keys`."""
    rows = [
        (*key, *(_score(seeds, name) for name in names))
        for key, seeds in experiments.grouped(found, *keys, "model").items()
    ]
    best: dict[str, Goal] = dict.fromkeys(names, "highest")
    return Table("", (*keys, "model", *names), rows, "", best=best, within=keys)


def _score(seeds: Sequence[Line], name: str) -> Cell:
    scores = [line["accuracy"].get(name) for line in seeds]
    return None if None in scores else experiments.spread(scores)


def rates() -> Table:
    """The clocks on sequential MNIST, causal with the last state."""
    ways = {"task": "smnist", "direction": "causal", "pooling": "last"}
    chosen = [line for line in lines("clock") if ways.items() <= line.items()]
    return _rates(chosen, "steps", names=_FEW_RATES)


def rates_by_way() -> Table:
    """The same in all directions, with both ways of pooling."""
    chosen = [line for line in lines("clock") if line["task"] == "smnist"]
    return _rates(chosen, "direction", "pooling", "steps")


def trained_rate() -> Table:
    """The clocks on all tasks, at the rate that they were trained at, a column for each task."""
    chosen = [line for line in lines("clock") if line["direction"] == "bidirectional"]
    return _by_task(chosen, lambda seeds: _score(seeds, "as trained"))


def rates_by_task() -> Table:
    """The clocks on all tasks, in the presets' way: bidirectional, mean pooling."""
    chosen = [line for line in lines("clock") if line["direction"] == "bidirectional"]
    return _rates(chosen, "task")


def _each(make: Callable[[Sequence[Line]], Table | list[Table]], name: str) -> Callable[[], str]:
    """All tables of an experiment, each under its caption."""

    def made() -> str:
        found = make(lines(name))
        tables = found if isinstance(found, list) else [found]
        return "\n".join(
            f"**{one.caption}.** {one.note}".strip() + f"\n\n{markdown(one)}"
            for one in tables
            if one.rows
        )

    return made


TABLES: dict[str, Callable[[], str]] = {
    "headline": lambda: markdown(headline()),
    "models": lambda: markdown(models()),
    "published": lambda: markdown(arena.table(None)),
    "rates": lambda: markdown(rates()),
    "trained rate": lambda: markdown(trained_rate()),
    "rates by task": lambda: markdown(rates_by_task()),
    "rates by way": lambda: markdown(rates_by_way()),
    "recall": _each(experiments.recall, "recall"),
    "initialization": _each(experiments.initialization, "initialization"),
    "filter bank": _each(experiments.filter_bank, "filter_bank"),
    "table": _each(experiments.measured, "table"),
    "long memory": _each(experiments.long_memory, "long_memory"),
}


def filled(text: str) -> str:
    """The text with all tables that it names made anew."""

    def table(found: re.Match) -> str:
        name = found.group(1)
        return f"<!-- {name} -->\n\n{TABLES[name]().strip()}\n\n<!-- /{name} -->"

    return re.sub(r"<!-- ([a-z ]+) -->\n.*?<!-- /\1 -->", table, text, flags=re.DOTALL)


if __name__ == "__main__":
    for page in PAGES:
        path = runs.ROOT / page
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
