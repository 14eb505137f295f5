"""The page about claims and evidence: what `fractal report` writes without runs.

Everything on it is computed by the installed package, except benchmarks, which are read from the
JSON files of `fractal bench`. Experiments are not part of the package: a checkout renders the same
page with their sections by `python -m experiments.page`, through `sections` of `evidence_page`.
"""

import pathlib
from collections.abc import Mapping, Sequence

from ..claims import Claim
from ..paper_tables import Conditions, condition_numbers, condition_table
from ..speed import BENCHMARKS, Benchmark, command, read_benchmark
from ..table import Cell, Quartiles, Table, value
from ..verification import verify
from . import alpha_sweep, figures
from .charts import colors, dots
from .curves import learning_curves
from .page import (
    AlphaSlider,
    Chart,
    Charts,
    ClaimTable,
    Folded,
    PageBlock,
    Section,
    Text,
    missing,
    render,
)

_LEAD = (
    "State-space models whose memory weights the past by a power law in age, (t − x)^(−α). This "
    "page compares the claims of the paper with measurements, and lists the speed of this library."
)


def evidence_page(benchmarks: pathlib.Path, sections: Sequence[Section] = ()) -> str:
    """The page as HTML; `sections` of the caller come before the section on speed.

    Benchmarks are read first and claims are measured then, which takes some seconds.
    """
    speeds = {name: read_benchmark(benchmarks, name) for name in BENCHMARKS}
    found = [
        slider_section(),
        claim_section(verify(), condition_numbers()),
        figure_section(),
        *sections,
        speed_section(speeds),
    ]
    return render("FRACTAL: claims and measurements", _LEAD, found)


def slider_section(alphas: tuple[float, ...] = alpha_sweep.ALPHAS) -> Section:
    """The effect of α on the measure, the spectrum and the recall of three signals."""
    found, order = alpha_sweep.recalled(alphas), alpha_sweep.ORDER
    recent = f"{100 * alpha_sweep.RECENT:g} %"
    charts = [
        Chart(
            "Weight of the past by age",
            "The measure of the chosen α falls as a power of age; that of LegS is constant.",
            alpha_sweep.measure_figure(alphas),
        ),
        Chart(
            f"Eigenvalues of the operator, N = {order}",
            "Decay and oscillation of the modes for the chosen α, and the real ones of LegS.",
            alpha_sweep.spectrum_figure(alphas),
        ),
    ]
    signals = {
        name: [
            Chart(
                f"Recall of the whole signal from {order} coefficients",
                f"{name}: signal, recall by LegS and by the memory of the chosen α.",
                alpha_sweep.recall_figure(one),
            ),
            Chart(
                f"Recall of the most recent {recent}",
                f"{name}, most recent {recent}: signal, recall by LegS and by the chosen α.",
                alpha_sweep.recall_figure(one, alpha_sweep.RECENT),
            ),
        ]
        for name, one in found.items()
    }
    summaries = {
        name: {alpha: alpha_sweep.summary(one, alpha) for alpha in alphas}
        for name, one in found.items()
    }
    return Section(
        "effect",
        "The effect of α",
        [
            Text(
                "α controls how strongly the recent past is weighted. At α = 0 all of the history "
                "has equal weight (HiPPO-LegS). Move the slider, or use the arrow keys."
            ),
            AlphaSlider(alphas, alpha_sweep.START, charts, signals, summaries),
            Text(
                "Computed by `fractal.theory` and `fractal.OnlineMemory` when this page was "
                "written. One eigenvalue of each conjugate pair is drawn. Layers start from the "
                "normal part of the operator, whose modes all decay at the rate (1 − α)/2.",
                "note",
            ),
        ],
    )


def claim_section(found: Sequence[Claim], conditions: Sequence[Conditions]) -> Section:
    """All claims with their verdicts, and the table of condition numbers."""
    counts = {
        verdict: sum(claim.verdict == verdict for claim in found)
        for verdict in ("confirmed", "refuted", "holds", "fails")
    }
    return Section(
        "claims",
        "Claims of the paper",
        [
            Text(
                "Each claim was measured when this page was written. Claims of the paper: "
                f"{counts['confirmed']} confirmed, {counts['refuted']} refuted. Properties of this "
                f"library: {counts['holds']} hold, {counts['fails']} fail."
            ),
            ClaimTable(
                "Claims of the paper",
                "published",
                [claim for claim in found if claim.verdict in ("confirmed", "refuted")],
            ),
            ClaimTable(
                "Properties of this library",
                "required",
                [claim for claim in found if claim.verdict in ("holds", "fails")],
            ),
            condition_table(conditions),
        ],
    )


def figure_section() -> Section:
    """The figures of `fractal verify --figures`."""
    return Section(
        "figures",
        "Figures",
        [
            Charts(
                [
                    Chart(
                        "Measures",
                        "LegS is constant, LegT ends at its window, LagT falls exponentially, the "
                        "fractional measure falls as a power of age.",
                        figures.measures(),
                        wide=True,
                    ),
                    Chart(
                        "Operators, N = 16",
                        "The published operators are lower triangular. The fractional ones are "
                        "full for α > 0 and the same at α = 0.",
                        figures.operators(),
                        wide=True,
                    ),
                ]
            ),
            Charts(
                [
                    Chart(
                        "Eigenvalues",
                        "The published eigenvalues are real; the fractional ones are complex with "
                        "real parts above one half.",
                        figures.spectrum(),
                    ),
                    Chart(
                        "Conditioning",
                        "The condition number of the published eigenvectors grows exponentially "
                        "with the order, that of the fractional ones slowly.",
                        figures.conditioning(),
                    ),
                    Chart(
                        "Recall by age",
                        "At small ages the fractional memory has a smaller error than LegS, at "
                        "large ages the same.",
                        figures.recall_by_age(),
                    ),
                ]
            ),
            Text("For print: `fractal verify --figures figures`.", "note"),
        ],
    )


def speed_section(found: Mapping[str, Benchmark | None]) -> Section:
    """All benchmarks, with lower bounds and alternatives."""
    blocks: list[PageBlock] = [
        Text(
            "The entries of a chart were measured interleaved in a single process, so that their "
            "ratios are comparable. Bars: quartiles."
        )
    ]
    for name, measured in found.items():
        if measured is None:
            file = f"benchmarks/{name}.json"
            blocks.append(missing(file, f"{command(name)} > {file}"))
            continue
        charts = _speed_charts(name, measured.tables[0])
        if charts:
            blocks.append(Charts(charts))
        if name == "scan":
            blocks.append(Folded("Scan, all numbers", measured.tables))
        else:
            blocks.extend(measured.tables)
        blocks.append(Text(f"Measured with: {measured.setting}.", "note"))
    return Section("speed", "Speed", blocks)


def _speed_charts(name: str, shown: Table) -> list[Chart]:
    if name == "scan":
        return _scan_charts(shown)
    if name == "data":
        return []
    kinds = {"layer": ("pass",), "step": ("preset",)}.get(name, ())
    first, times = shown.header[len(kinds) : len(kinds) + 2]
    charts = []
    for key, rows in grouped(shown, *kinds).items():
        title = f"{shown.caption}, {key[0]}" if key else shown.caption
        cells: dict[str, dict[str, Cell]] = {str(row[first]): {"time": row[times]} for row in rows}
        bounds = [value(row[times]) for row in rows if row[first] == "lower bound"]
        description = ", ".join(f"{row[first]} {value(row[times]):.3g}" for row in rows)
        unit = times.split(" (")[0]
        scale = "linear" if kinds else "log"
        references = {"lower bound": bounds[0]} if bounds else {}
        figure = dots(cells, unit, scale=scale, references=references)
        charts.append(Chart(title, f"{title}, {unit}: {description}.", figure))
    return charts


def _scan_charts(shown: Table) -> list[Chart]:
    methods, charts = shown.header[2:-1], []
    for (kind,), rows in grouped(shown, "pass and size").items():
        lengths = [int(value(row["length"])) for row in rows]
        curves = {
            method: [(lengths, [value(row[method]) for row in rows])]
            for method in methods
            if all(isinstance(row[method], Quartiles) for row in rows)
        }
        figure = learning_curves(curves, "", "milliseconds", colors(methods))
        axes = figure.axes[0]
        axes.set(xscale="log", yscale="log", xlabel="length")
        title = f"Scan, {kind}"
        charts.append(Chart(title, f"{title}: milliseconds by length and method.", figure))
    return charts


def grouped(table: Table, *names: str) -> dict[tuple, list[dict[str, Cell]]]:
    """The rows of a table by heading, grouped by some columns."""
    found: dict[tuple, list[dict[str, Cell]]] = {}
    for row in table.rows:
        named = dict(zip(table.header, row, strict=True))
        found.setdefault(tuple(named[name] for name in names), []).append(named)
    return found
