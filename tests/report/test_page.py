import base64
import hashlib
import html.parser
import json
import pathlib
import re

import numpy as np
import pytest

from fractal import theory
from fractal.report import alpha_sweep as sweeps
from fractal.report import experiments
from fractal.report.claims import of_ours, of_paper
from fractal.report.page import Evidence, embedded, page
from fractal.report.paper_tables import condition_numbers
from fractal.report.results import EXPERIMENTS, read_experiment
from fractal.report.speed import BENCHMARKS, read_benchmark
from fractal.report.table import shown
from result_lines import all_lines, write

VOID = {"meta", "input", "br", "hr", "link", "img"}
ROOT = pathlib.Path(__file__).parents[2]
CLAIMS = [
    of_paper("§1", "a claim <b>of</b> the paper", "1 & 2", "3", 3.0, False),
    of_ours("theory §3", "a promise", "4", "4.0", 4.0, True),
]


class Page(html.parser.HTMLParser):
    """Elements with their attributes and text; complains where a tag is not closed in turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else None, []).append(data)

    def all(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]


@pytest.fixture(scope="module")
def sweep():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "ALPHAS", (0.0, 0.5, 0.9))
        return sweeps.alpha_sweep()


def evidence(folder, sweep, lines):
    write(folder, lines)
    return Evidence(
        CLAIMS,
        condition_numbers(),
        sweep,
        {name: read_experiment(folder, name) for name in EXPERIMENTS},
        {name: read_benchmark(ROOT / "benchmarks", name) for name in BENCHMARKS},
    )


@pytest.fixture(scope="module")
def text(sweep, tmp_path_factory):
    return page(evidence(tmp_path_factory.mktemp("results"), sweep, all_lines()))


@pytest.fixture(scope="module")
def parsed(text):
    return Page(text)


def data_of(parsed):
    found = [t for t in parsed.texts["script"] if t.startswith("{")]
    return json.loads(found[0])


def test_the_page_loads_nothing(text, parsed):
    for attributes in (attributes for _, attributes in parsed.elements):
        assert not {"src", "srcset", "action", "data", "background", "style"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(text.encode()) < 3_000_000


def test_only_the_pages_own_script_may_run(parsed):
    (policy,) = [m["content"] for m in parsed.all("meta") if "http-equiv" in m]
    (script,) = [t for t in parsed.texts["script"] if t.startswith('"use strict"')]
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashed}'"
    )


def test_links_lead_somewhere_and_ids_are_unique(parsed):
    ids = [a["id"] for _, a in parsed.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in parsed.all("a")} <= set(ids)
    assert {a["for"] for a in parsed.all("label", "output")} <= set(ids)
    assert {a["aria-labeledby"] for a in parsed.all("section")} <= set(ids)


def test_every_table_has_a_caption_with_its_command_and_every_chart_a_text(parsed):
    tables = len(parsed.all("table"))
    assert tables == len(parsed.all("caption")) > 10
    assert all(a["aria-label"] for a in parsed.all("div") if a.get("role") == "img")
    charts = [a for a in parsed.all("figure") if "data-chart" in a]
    assert [int(a["data-chart"]) for a in charts] == list(range(len(data_of(parsed)["charts"])))
    commands = set(parsed.texts["code"])
    assert {f"python -m experiments.{name}" for name in EXPERIMENTS} <= commands
    assert {f"fractal bench {name} --json" for name in BENCHMARKS} <= commands
    assert "fractal verify" in commands


def test_claims_are_shown_and_counted(text, parsed):
    assert "a claim &lt;b&gt;of&lt;/b&gt; the paper" in text
    assert "<b>1</b> refuted" in text
    assert "<b>0</b> confirmed" in text
    assert "<b>1</b> holds" in text
    assert "61.85" in text
    assert len([a for a in parsed.all("tr") if a.get("class") == "here"]) == 3


def test_every_cell_of_the_experiments_is_on_the_page(parsed, tmp_path):
    write(tmp_path, all_lines())
    lines = {name: read_experiment(tmp_path, name) or [] for name in EXPERIMENTS}
    tables = [
        *experiments.recall(lines["recall"]),
        experiments.initialization(lines["initialization"]),
        experiments.filter_bank(lines["filter_bank"]),
        *experiments.clock(lines["clock"]).values(),
        experiments.measured(lines["table"]),
        experiments.long_memory(lines["long_memory"]),
    ]
    on_page = {t for tag in ("td", "th", "strong") for t in parsed.texts[tag]}
    assert {shown(cell) for table in tables for row in table.rows for cell in row} <= on_page


def test_a_row_of_the_page_has_its_numbers_in_their_columns(text):
    """Seeds 0 and 1 of legs: 0.3 twice, 0.6 twice, and 0.3 and 1.3."""
    plain = text.replace("<strong>", "").replace("</strong>", "")
    cells = ("2", "0.300 ± 0.000", "0.600 ± 0.000", "0.800 ± 0.707")
    row = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    assert f'<tr><th scope="row">legs</th>{row}</tr>' in plain


def test_charts_have_the_means_and_error_bars_of_the_lines(parsed):
    charts = {chart["title"]: chart for chart in data_of(parsed)["charts"]}
    listops = [
        c
        for c in data_of(parsed)["charts"]
        if c["title"] == "listops, 600 steps" and c["kind"] == "dots" and c["references"]
    ]
    (chart,) = listops
    fractal = next(row for row in chart["rows"] if row["name"] == "fractal")
    assert fractal["points"] == [
        {"series": "test accuracy", "mean": 0.51, "low": 0.5, "high": 0.52}
    ]
    assert {r["name"]: r["value"] for r in chart["references"]} == {
        "most frequent class": 0.125, "bag of tokens": 0.25,
    }  # fmt: skip
    recall = charts["brownian, N = 64"]["series"][1]
    assert (recall["name"], recall["y"]) == ("legs", [0.3, 0.6, 0.8])
    assert recall["high"][2] == pytest.approx(0.8 + 0.5**0.5, rel=1e-3)
    assert recall["low"][2] > 0  # the axis is logarithmic
    (clock,) = (chart for title, chart in charts.items() if "causal, last pooling" in title)
    rates = ["as trained", "repeated 2", "repeated 2, told"]
    assert [row["name"] for row in clock["rows"]] == rates
    loss = charts["image, 600 steps"]
    assert loss["series"][0]["x"] == [10, 20]
    assert loss["series"][0]["y"] == [2.0, 1.51]


def test_names_in_results_are_never_read_as_html(sweep, tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
    lines = {
        name: [
            {k: evil if isinstance(v, str) else v for k, v in line.items()} for line in some
        ]
        for name, some in all_lines().items()
    }  # fmt: skip
    lines["clock"][0]["accuracy"] = {evil: 0.5}
    text = page(evidence(tmp_path, sweep, lines))
    parsed = Page(text)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert len(parsed.all("script")) == 2
    assert evil in parsed.texts["th"]
    assert any(evil in chart["title"] for chart in data_of(parsed)["charts"])


def test_what_is_missing_is_said_with_the_command_that_makes_it(sweep):
    nothing = Evidence(
        CLAIMS, condition_numbers(), sweep,
        dict.fromkeys(EXPERIMENTS), dict.fromkeys(BENCHMARKS),
    )  # fmt: skip
    text = page(nothing)
    Page(text)
    for name in EXPERIMENTS:
        assert f"results/{name}.jsonl is missing. <code>python -m experiments.{name}</code>" in text
    for name in BENCHMARKS:
        assert f"benchmarks/{name}.json is missing. <code>fractal bench {name} --json" in text
    assert "61.85" in text


def test_embedded_data_survives_and_ends_no_element():
    data = {"a": "</script><!--", "b": [1.5, None], "c": "α & β"}
    assert "<" not in embedded(data)
    assert json.loads(embedded(data)) == data


def test_one_diverged_run_does_not_break_the_page(sweep, tmp_path):
    lines = all_lines()
    lines["table"][0] |= {"late_loss": None, "test_accuracy": None, "curve": [[10, None]]}
    lines["recall"][0]["error"][0] = None
    text = page(evidence(tmp_path, sweep, lines))
    assert "not finite" in text
    data_of(Page(text))


def test_the_slider_shows_the_theory(sweep):
    assert (sweeps.ALPHAS[0], sweeps.ALPHAS[-1], len(sweeps.ALPHAS)) == (0.0, 0.9, 19)
    half = sweep["alphas"].index(0.5)
    age = sweep["ages"][20]
    assert sweep["density"][half][20] == pytest.approx(0.5 * age**-0.5, rel=1e-3)
    assert sweep["density"][0] == [1.0] * len(sweep["ages"])
    assert sweep["recent"][half] == pytest.approx(0.1**0.5, rel=1e-3)
    assert sorted(sweep["fractional"][0][0]) == list(range(1, 65))  # LegS
    assert set(sweep["normal"][half][0]) == {0.25}  # (1 − α)/2
    assert min(sweep["fractional"][-1][0]) > 0.5


def test_the_slider_recalls_as_the_best_projection_does(sweep):
    u = sweeps.signals()["jumps"]
    shown = next(one for one in sweep["signals"] if one["name"] == "jumps")
    legs = theory.LegS()
    ages = np.array(shown["ages"])
    expected = theory.recall(legs, theory.project(legs, u, sweeps.ORDER), ages)
    np.testing.assert_allclose(shown["recalled"][0], expected, atol=2e-3)
    assert shown["signal"][shown["whole"] - 1] == shown["signal"][-1] == pytest.approx(u[-1])
    assert max(shown["ages"][shown["whole"] :]) < sweeps.RECENT + 1e-4
