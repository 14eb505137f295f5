"""The page of `fractal report` with the results of all experiments.

`python -m experiments.page` writes report/index.html from results/ and benchmarks/.
"""

import pathlib
from collections.abc import Callable, Iterable, Sequence

from fractal._errors import UserError
from fractal._files import write_whole
from fractal.report.pages.evidence import evidence_page
from fractal.report.pages.page import Charts, Folded, PageBlock, Section, Text, missing
from fractal.report.table import Cell, Table

from . import (
    arena,
    code,
    forecast_tables,
    laptop_table,
    learned_clock,
    page_charts,
    series_tables,
    speed_charts,
    stream_tables,
    summaries,
)
from .results import Line, read_experiment

_BARS = "Marks: means over the seeds; bars: one sample standard deviation."


def sections(folder: pathlib.Path) -> list[Section]:
    """One section per experiment, and one on the Long Range Arena."""
    found = []
    for name, (title, make) in _EXPERIMENTS.items():
        lines = read_experiment(folder, name)
        absent = missing(f"results/{name}.jsonl", summaries.command(name))
        found.append(Section(name.replace("_", "-"), title, make(lines) if lines else [absent]))
    lines = read_experiment(folder, "models")
    tables = [arena.table(lines), arena.scale(lines)]
    return [*found, Section("arena", "Long Range Arena", tables)]


def _recall(lines: Sequence[Line]) -> list[PageBlock]:
    return [
        Text(
            "Recall error by relative age from the same number of coefficients; 1 is the error of "
            "the mean of the signal. The state of the published operator is interpreted as that of "
            "LegS, after a change of basis, and as printed, under the power-law measure."
        ),
        Charts(page_charts.recalls(lines)),
        Text("Bars: one sample standard deviation over the seeds.", "note"),
        Folded("All numbers", summaries.recall(lines)),
    ]


def _initialization(lines: Sequence[Line]) -> list[PageBlock]:
    text = (
        "Normal is the default. Published has the paper's eigenvalues 1 … N, published "
        "spectrum adds imaginary parts to them, random B is the default without the gains of "
        "its operator."
    )
    groups = [
        ((first["task"], first["steps"]), first["init"], seeds)
        for first, seeds, _ in summaries.chosen_ranges(lines)
    ]
    return _trained(text, summaries.initialization(lines), "initialization", groups)


def _trained(
    text: str,
    table: Table,
    row: str,
    groups: Iterable[tuple[tuple[Cell, Cell], str, Sequence[Line]]],
    series: str | None = None,
) -> list[PageBlock]:
    """Test accuracies and training losses; a group is (task, steps), a name and its seeds."""
    losses: dict[str, dict[str, Sequence[Line]]] = {}
    for place, name, seeds in groups:
        losses.setdefault(page_charts.title_of(*place), {})[name] = seeds
    return [
        Text(text),
        Charts(page_charts.accuracies(table, row, series)),
        Charts([page_charts.losses(*one) for one in losses.items()]),
        Text(f"{_BARS} Bands: range of the training loss.", "note"),
        table,
    ]


def _filter_bank(lines: Sequence[Line]) -> list[PageBlock]:
    table = summaries.filter_bank(lines)
    return [
        Text(
            "A single α for all bank blocks, a bank of several, learned α, or a single bank block."
        ),
        Charts(page_charts.accuracies(table, "α", "clock")),
        Text(_BARS, "note"),
        table,
    ]


def _clock(lines: Sequence[Line]) -> list[PageBlock]:
    tables = summaries.clock(lines)
    charts = [chart for task, one in tables.items() for chart in page_charts.rates(one, task)]
    return [
        Text(
            "Models trained at one sampling rate and tested at others, with and without rescaling "
            "Δ. The scale-invariant clock does not depend on the rate."
        ),
        Charts(charts),
        Text(_BARS, "note"),
        *tables.values(),
    ]


def _models(lines: Sequence[Line]) -> list[PageBlock]:
    text = (
        "All models on small tasks with the same data and steps and matched parameter count, "
        "and the trivial baselines."
    )
    found = summaries.grouped(lines, "task", "model", "steps").items()
    groups = [((task, steps), model, seeds) for (task, model, steps), seeds in found]
    return _trained(text, summaries.models(lines), "model", groups)


def _long_memory(lines: Sequence[Line]) -> list[PageBlock]:
    table = summaries.long_memory(lines)
    return [
        Text(
            "Series whose correlations decay as a power of time. At 1 a model is as good as the "
            "best linear predictor."
        ),
        Charts(page_charts.forecasts(table)),
        Text(_BARS, "note"),
        table,
    ]


def _selective(lines: Sequence[Line]) -> list[PageBlock]:
    text = (
        "The rate at which time passes in each block of the filter bank is 1 (fixed), or computed "
        "from the input (selective)."
    )
    table = learned_clock.selective(lines)
    found = summaries.grouped(lines, "task", "clock", "rate", "steps").items()
    groups = [
        ((task, steps), f"{clock}, {rate}", seeds) for (task, clock, rate, steps), seeds in found
    ]
    return _trained(text, table, "clock", groups, "rate")


def _full_budget(lines: Sequence[Line]) -> list[PageBlock]:
    text = "The task on which selective rates help in short runs, in the whole run of its preset."
    return [Text(text), learned_clock.full_budget(lines)]


def _synthetic(lines: Sequence[Line]) -> list[PageBlock]:
    table = learned_clock.synthetic(lines)
    return [
        Text(
            "The two synthetic tasks of the Mamba paper, in runs that are hundreds of times "
            "shorter."
        ),
        Charts(page_charts.accuracies(table, "model")),
        Text(_BARS, "note"),
        table,
    ]


def _induction(lines: Sequence[Line]) -> list[PageBlock]:
    text = "Training sequences whose length doubles from 16 to 256, tests up to sixteen times that."
    return [Text(text), learned_clock.induction(lines)]


def _morse(lines: Sequence[Line]) -> list[PageBlock]:
    return [
        Text(
            "Morse code: training with every bit repeated 10 times, tests with every bit repeated "
            "1 to 40 times."
        ),
        Charts([speed_charts.morse(lines)]),
        Text(_BARS, "note"),
        learned_clock.morse(lines),
    ]


def _speech(lines: Sequence[Line]) -> list[PageBlock]:
    return [
        Text("Spoken digits by raw waveform: training at one speed, tests at others."),
        Charts(speed_charts.speech(lines)),
        Text(_BARS, "note"),
        learned_clock.speech(lines),
    ]


def _laptop(lines: Sequence[Line]) -> list[PageBlock]:
    text = "Sequences of the published length, with models that one core trains in about an hour."
    runs = laptop_table.by_task(lines).items()
    charts = page_charts.validation_curves(
        {laptop_table.name_of(task): models for task, models in runs}
    )
    return [Text(text), Charts(charts), laptop_table.table(lines)]


def _pathfinder(lines: Sequence[Line]) -> list[PageBlock]:
    text = "Short runs on Pathfinder: which model leaves chance, and after how many images."
    found: dict[str, dict[str, list[Line]]] = {}
    for line in lines:
        title = f"Pathfinder, {laptop_table.DASHES.get(line['task'], line['task'])}"
        found.setdefault(title, {}).setdefault(line["model"], []).append(line)
    return [
        Text(text),
        Charts(page_charts.validation_curves(found)),
        laptop_table.pathfinder(lines),
    ]


def _own_series(lines: Sequence[Line]) -> list[PageBlock]:
    text = "The classifier of `fractal.estimators` with default settings, and established ones."
    return [Text(text), *series_tables.tables(lines)]


def _training_cases(lines: Sequence[Line]) -> list[PageBlock]:
    text = "From how many training cases on the network is ahead of the filters."
    return [Text(text), series_tables.training_cases(lines)]


def _forecast(lines: Sequence[Line]) -> list[PageBlock]:
    text = "All steps of the horizon in one pass, beside other methods and published numbers."
    return [Text(text), *forecast_tables.tables(lines)]


def _ecg(lines: Sequence[Line]) -> list[PageBlock]:
    text = "A single event in a single record: a heart beat that comes early, noticed in a stream."
    return [Text(text), stream_tables.beats(lines)]


_EXPERIMENTS: dict[str, tuple[str, Callable[[Sequence[Line]], list[PageBlock]]]] = {
    "recall": ("Recall by age", _recall),
    "initialization": ("Initialization", _initialization),
    "filter_bank": ("Filter bank", _filter_bank),
    "clock": ("Sampling rate", _clock),
    "models": ("All models", _models),
    "long_memory": ("Long memory", _long_memory),
    "morse": ("Accuracy against speed: Morse code", _morse),
    "speech": ("Accuracy against speed: spoken digits", _speech),
    "selective": ("Selective rates", _selective),
    "full_budget": ("Selective rates in longer runs", _full_budget),
    "synthetic": ("Selective copying and induction heads", _synthetic),
    "induction": ("Induction heads on growing lengths", _induction),
    "laptop": ("Published length", _laptop),
    "pathfinder": ("What leaves chance on Pathfinder", _pathfinder),
    "own_series": ("Your own series", _own_series),
    "training_cases": ("Network and filters by number of cases", _training_cases),
    "forecast": ("Forecasts", _forecast),
    "ecg": ("Streams", _ecg),
}


def main() -> None:
    html = evidence_page(code.ROOT / "benchmarks", sections(code.ROOT / "results"))
    path = code.ROOT / "report" / "index.html"
    try:
        path.parent.mkdir(exist_ok=True)
        write_whole(path, html.encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    print(path.relative_to(code.ROOT))


if __name__ == "__main__":
    from . import runs  # loads JAX and the training

    runs.main(main)
