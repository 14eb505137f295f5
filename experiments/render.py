"""The tables of README.md and of pages in docs/, from results/ and benchmarks/.

`python -m experiments.render` writes each between `<!-- NAME -->` and `<!-- /NAME -->`; a test
compares the pages with its output.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from fractal.report.table import Cell, Goal, Table, markdown, spread, value

from . import (
    arena,
    code,
    forecast_tables,
    gpus,
    laptop_table,
    learned_clock,
    paper_presets,
    series_tables,
    speed,
    stream_tables,
    summaries,
)
from .results import Line, read_experiment, stale_note

PAGES = (
    "README.md",
    "docs/results.md",
    "docs/lra.md",
    "docs/long-sequences.md",
    "docs/export.md",
)
_BOTH = ("forward", "forward + backward")
_LONG = 600  # steps of the longest runs on sequential MNIST
_MEMORY, _LAYER = "`fractal bench memory`", "`fractal bench layer`"


def lines(name: str) -> list[Line]:
    """The results of an experiment; an empty list where there are none."""
    return read_experiment(code.ROOT / "results", name) or []


def _benchmark(name: str) -> dict[str, Any]:
    return json.loads((code.ROOT / "benchmarks" / f"{name}.json").read_text(encoding="utf-8"))


def benchmark_sentence() -> str:
    """The README's sentence on speed."""
    memory, layer = _benchmark("memory"), _benchmark("layer")
    cores = {one["provenance"]["machine"]["cores"] for one in (memory, layer)}
    assert cores == {2}, "the sentence says two cores"
    million = memory["samples_per_second"] / 1e6
    ratio = layer["times_the_lower_bound"]["forward"]
    return (
        f"On two CPU cores `OnlineMemory` processes {million:.0f} million samples per second in "
        f"blocks, and a forward pass of `FractalSSM` takes {ratio:.1f} times as long as its two "
        "matrix products ([benchmarks](docs/results.md#claims-and-speed))."
    )


def benchmark_table() -> Table:
    """The measured speed, in six rows."""
    memory, layer = _benchmark("memory"), _benchmark("layer")
    single = memory["microseconds_per_sample"]["single samples"]["median"]
    dense = [memory[f"times_faster_than_dense_{way}"] for way in ("precomputed", "solved")]

    def both(name: str) -> str:
        return " / ".join(f"{layer[name][way]:.1f}×" for way in _BOTH)

    rows: list[tuple[Cell, ...]] = [
        (
            "`OnlineMemory`, blocks of 10,000 samples, N = 64",
            f"{memory['samples_per_second'] / 1e6:.0f} million samples/s",
            _MEMORY,
        ),
        (
            "… compared with HiPPO's dense update, precomputed / solved in each step",
            f"{dense[0]:.0f}× / {dense[1]:.0f}× faster",
            _MEMORY,
        ),
        ("`OnlineMemory`, single samples", f"{single:.0f} µs per sample", _MEMORY),
        (
            "`FractalSSM` compared with its two matrix products alone, forward / with gradients",
            f"{both('times_the_lower_bound')} the time",
            _LAYER,
        ),
        (
            "… compared with S5's scan in JAX",
            f"{both('times_faster_than_s5_scan')} faster",
            _LAYER,
        ),
        (
            "… compared with s5-pytorch on CPU",
            f"{both('times_faster_than_s5_pytorch')} faster",
            _LAYER,
        ),
    ]
    return Table("", ("", "measured", "command"), rows, "")


def verification() -> Table:
    """The verified claims, in a few numbers."""
    kept = (code.ROOT / "results" / "verify.json").read_text(encoding="utf-8")
    claims = json.loads(kept)["claims"]
    value = {claim["statement"]: claim["value"] for claim in claims}
    verdicts = [claim["verdict"] for claim in claims]
    newest = value["α = 0.9 has a smaller error than LegS at ages < 1e-4"]
    oldest = value["α = 0.9 has the error of LegS at ages > 0.1"]
    rows: list[tuple[Cell, ...]] = [
        (
            "claims of the paper: confirmed / refuted",
            f"{verdicts.count('confirmed')} / {verdicts.count('refuted')}",
        ),
        ("recall error of LegS ÷ that of α = 0.9, ages < 1e-4", f"{newest:.1f}"),
        ("recall error of α = 0.9 ÷ that of LegS, ages > 0.1", f"{oldest:.3f}"),
    ]
    return Table("", ("`fractal verify`", "measured"), rows, "")


_NAMES = {
    "fractal, uniform": "FRACTAL, uniform clock",
    "fractal, scale-invariant": "FRACTAL, scale-invariant clock",
    "s5": "S5",
    "s4d": "S4D",
}
_COLUMNS = {
    "sequential MNIST": ("smnist", "training rate"),
    "4× upsampled": ("smnist", "4× upsampled"),
    "4× upsampled, rescaled Δ": ("smnist", "4× upsampled, rescaled Δ"),
    "permuted MNIST": ("psmnist", "training rate"),
}


def headline() -> Table:
    """The README's table: sampling rates on sequential MNIST, and permuted MNIST."""
    found = {
        key: seeds
        for key, seeds in summaries.grouped(_bidirectional(), "task", "model").items()
        if key[1] in _NAMES
    }
    rows: list[tuple[Cell, ...]] = []
    chance = set()
    for line, (model, name) in enumerate(_NAMES.items()):
        cells = []
        for column, (task, rate) in enumerate(_COLUMNS.values(), 1):
            cell = _score(found.get((task, model), []), rate)
            cells.append("not needed" if cell is None and "rescaled" in rate else cell)
            if summaries.accuracy_at_chance(cell, task):
                chance.add((line, column))
        rows.append((name, *cells))
    best: dict[str, Goal] = dict.fromkeys(_COLUMNS, "highest")
    return Table("", ("test accuracy", *_COLUMNS), rows, "", best=best, chance=frozenset(chance))


def _longer(model: str) -> float:
    """Accuracy on sequential MNIST of the causal runs with larger models."""
    found = summaries.grouped(lines("clock"), "task", "direction", "pooling", "model", "steps")
    return value(_score(found["smnist", "causal", "last", model, _LONG], "training rate"))


def results() -> str:
    """The README's table, with its caveats."""
    first = [line for line in _bidirectional() if line["task"] in ("smnist", "psmnist")]
    s5, clock = _longer("s5"), _longer("fractal, scale-invariant")
    low, high = (f(line["parameters"] for line in first) for f in (min, max))
    note = stale_note("clock", first)
    return (
        f"{markdown(headline())}\n"
        f"Small models ({low:,.0f} to {high:,.0f} parameters), {first[0]['steps']} train steps, "
        "mean ± standard deviation of three seeds, 1,000 test examples; bidirectional, mean "
        "pooling (`python -m experiments.clock`). Bold: best of the column and all within its "
        f"deviation. {note} The best variant of each model is in [Results](docs/results.md): in "
        f"causal runs of {_LONG} steps S5 ({s5:.3f}) and the scale-invariant clock ({clock:.3f}) "
        "are level on sequential MNIST."
    )


def overview() -> Table:
    """Test accuracy of all models on all tasks, the trivial baselines, and the budget."""
    found = lines("models")
    table = _by_task(found, lambda seeds: summaries.over(seeds, "test_accuracy"))
    per_task = [[line for line in found if line["task"] == task] for task in table.header[1:]]
    for name, field in (("bag of tokens", "bag"), ("most frequent class", "chance")):
        table.rows.append((name, *(f"{own[0][field]:.3f}" for own in per_task)))
    for field in ("steps", "examples", "parameters", "seconds"):
        name = "seconds on one core" if field == "seconds" else field
        table.rows.append((name, *(arena.extent(own, field) for own in per_task)))
    return table


def _by_task(found: Sequence[Line], score: Callable[[list[Line]], Cell]) -> Table:
    """A row per model, a column per task."""
    groups = summaries.grouped(found, "task", "model")
    tasks = tuple(dict.fromkeys(task for task, _ in groups))
    rows: list[tuple[Cell, ...]] = [
        (
            model,
            *(score(groups[task, model]) if (task, model) in groups else None for task in tasks),
        )
        for model in dict.fromkeys(model for _, model in groups)
    ]
    chance = frozenset(
        (line, column)
        for line, row in enumerate(rows)
        for column, task in enumerate(tasks, 1)
        if summaries.accuracy_at_chance(row[column], task)
    )
    best: dict[str, Goal] = dict.fromkeys(tasks, "highest")
    return Table("", ("", *tasks), rows, "", best=best, chance=chance)


_RATES = (
    "training rate",
    "2× upsampled",
    "4× upsampled",
    "4× upsampled, rescaled Δ",
    "2× downsampled (mean)",
    "2× downsampled (mean), rescaled Δ",
    "2× downsampled",
    "2× downsampled, rescaled Δ",
    "warped",
)


def _rates(found: Sequence[Line], *keys: str) -> Table:
    """Test accuracy at all rates; models are compared among equal `keys`."""
    groups = summaries.grouped(found, *keys, "model")
    rows = [(*key, *(_score(seeds, name) for name in _RATES)) for key, seeds in groups.items()]
    chance = frozenset(
        (line, column)
        for line, (row, seeds) in enumerate(zip(rows, groups.values(), strict=True))
        for column in range(len(keys) + 1, len(row))
        if summaries.accuracy_at_chance(row[column], seeds[0]["task"])
    )
    best: dict[str, Goal] = dict.fromkeys(_RATES, "highest")
    header = (*keys, "model", *_RATES)
    return Table("", header, rows, "", best=best, within=keys, chance=chance)


def _score(seeds: Sequence[Line], name: str) -> Cell:
    scores = [line["accuracy"].get(name) for line in seeds]
    return spread(scores) if scores and None not in scores else None


def _bidirectional() -> list[Line]:
    return [line for line in lines("clock") if line["direction"] == "bidirectional"]


def rates_by_task() -> Table:
    """The clocks on all tasks, bidirectional with mean pooling, as in the presets."""
    return _rates(_bidirectional(), "task")


def rates_by_direction_and_pooling() -> Table:
    """The clocks on sequential MNIST, for all directions and both poolings."""
    chosen = [line for line in lines("clock") if line["task"] == "smnist"]
    return _rates(chosen, "direction", "pooling", "steps")


def _plain(make: Callable[[], Table], name: str | None = None) -> Callable[[], str]:
    """A table without caption, with a note on stale lines of an experiment."""

    def rendered() -> str:
        note = stale_note(name, lines(name)) if name else ""
        return f"{markdown(make())}\n{note}".strip()

    return rendered


def _captioned(
    make: Callable[[Sequence[Line]], Table | list[Table]], name: str
) -> Callable[[], str]:
    """All tables of an experiment, each under its caption."""

    def rendered() -> str:
        found = make(lines(name))
        tables = found if isinstance(found, list) else [found]
        return "\n".join(
            f"**{one.caption}.** {one.note}".strip() + f"\n\n{markdown(one)}"
            for one in tables
            if one.rows
        )

    return rendered


def exports() -> Table:
    """One model in each target: agreement with JAX, bytes, and time per step."""
    found = _benchmark("export")
    rows: list[tuple[Cell, ...]] = [
        (
            target,
            f"{error:.1e}",
            f"{found['file_bytes'][target]:,}" if target in found["file_bytes"] else "",
            f"{found['microseconds_per_step'][target]['median']:.1f}",
        )
        for target, error in found["relative_error"].items()
    ]
    return Table("", ("", "relative error", "bytes of the file", "µs per step"), rows, "")


def export_sizes() -> str:
    """The bytes of the parts of the C program."""
    found = _benchmark("export")
    return (
        f"The model has {found['setting']['parameters']:,} parameters. In C its state takes "
        f"{found['state_bytes']:,} bytes, its weights {found['weight_bytes']:,} and its code "
        f"{found['code_bytes']:,}."
    )


TABLES: dict[str, Callable[[], str]] = {
    "results": results,
    "benchmarks": benchmark_sentence,
    "benchmark table": _plain(benchmark_table),
    "before and after": lambda: speed.before_and_after(code.ROOT / "benchmarks"),
    "whole step": lambda: speed.whole_step(code.ROOT / "benchmarks"),
    "steps that fit": _plain(gpus.table),
    "verification": _plain(verification),
    "export": _plain(exports),
    "export sizes": export_sizes,
    "published": _plain(lambda: arena.table(None)),
    "overview": _plain(overview, "models"),
    "rates by task": _plain(rates_by_task, "clock"),
    "rates by direction and pooling": _plain(rates_by_direction_and_pooling, "clock"),
    "recall": _captioned(summaries.recall, "recall"),
    "initialization": _captioned(summaries.initialization, "initialization"),
    "filter bank": _captioned(summaries.filter_bank, "filter_bank"),
    "models": _captioned(summaries.models, "models"),
    "long memory": _captioned(summaries.long_memory, "long_memory"),
    "morse": _captioned(learned_clock.morse, "morse"),
    "speech": _captioned(learned_clock.speech, "speech"),
    "selective": _captioned(learned_clock.selective, "selective"),
    "full budget": _captioned(learned_clock.full_budget, "full_budget"),
    "induction": _captioned(learned_clock.induction, "induction"),
    "synthetic": _captioned(learned_clock.synthetic, "synthetic"),
    "paper presets": paper_presets.page,
    "arena runs": lambda: laptop_table.readme(lines("laptop")),
    "published length": _captioned(laptop_table.table, "laptop"),
    "pathfinder": _captioned(laptop_table.pathfinder, "pathfinder"),
    "own series": _captioned(series_tables.tables, "own_series"),
    "training cases": _captioned(series_tables.training_cases, "training_cases"),
    "forecasts": _captioned(forecast_tables.tables, "forecast"),
    "streams": _captioned(stream_tables.beats, "ecg"),
}


def filled(text: str) -> str:
    """The text with all tables that it names regenerated."""

    def table(found: re.Match) -> str:
        name = found.group(1)
        return f"<!-- {name} -->\n\n{TABLES[name]().strip()}\n\n<!-- /{name} -->"

    return re.sub(r"<!-- ([a-z ]+) -->\n.*?<!-- /\1 -->", table, text, flags=re.DOTALL)


if __name__ == "__main__":
    for page in PAGES:
        path = code.ROOT / page
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
