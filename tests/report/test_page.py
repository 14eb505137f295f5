"""The page about claims and evidence, and the parts that all pages have."""

import base64
import hashlib
import pathlib
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from fractal import theory
from fractal.report.claims import of_ours, of_paper
from fractal.report.pages import alpha_sweep, evidence, figures
from fractal.report.pages.page import Chart, Charts, Folded, Section, Text, missing, render
from fractal.report.pages.svg import svg
from fractal.report.paper_tables import condition_numbers
from fractal.report.speed import BENCHMARKS, read_benchmark
from fractal.report.table import Spread, Table
from pages import check_self_contained

ROOT = pathlib.Path(__file__).parents[2]
ALPHAS = (0.0, 0.5, 0.9)
CLAIMS = [
    of_paper("§1", "a claim <b>of</b> the paper", "1 & 2", "3", 3.0, False),
    of_ours("theory §3", "a property", "4", "4.0", 4.0, True),
]
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&$\\frac$"


@pytest.fixture(scope="module")
def recalled():
    return alpha_sweep.recalled(ALPHAS)


@pytest.fixture(scope="module")
def text(recalled):
    """The whole page, with few values of α and few claims."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "verify", lambda: CLAIMS)
        patch.setattr(alpha_sweep, "recalled", lambda alphas: recalled)
        slider, recall = evidence.slider_section, figures.recall_by_age
        patch.setattr(figures, "recall_by_age", lambda: recall(paths=1, length=2000))
        patch.setattr(evidence, "slider_section", lambda: slider(ALPHAS))
        extra = Section("own", "Of the caller", [Text("own text")])
        return evidence.evidence_page(ROOT / "benchmarks", [extra])


@pytest.fixture(scope="module")
def parsed(text):
    return check_self_contained(text)


def page_of(*blocks):
    return render("title", "lead", [Section("s", "section", blocks)])


def test_the_page_is_small_and_its_script_short(text):
    folder = ROOT / "src" / "fractal" / "report" / "pages" / "templates"
    script = (folder / "slider.js").read_text()
    assert len(script.splitlines()) < 100
    assert [path.name for path in folder.iterdir() if path.suffix == ".js"] == ["slider.js"]
    assert len(text.encode()) < 1_500_000


def test_only_the_script_of_the_page_may_run(parsed):
    (policy,) = [m["content"] for m in parsed.all("meta") if "http-equiv" in m]
    (script,) = parsed.texts["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'"
    )


def test_claims_are_shown_and_counted(text):
    assert "a claim &lt;b&gt;of&lt;/b&gt; the paper" in text
    assert "0 confirmed, 1 refuted" in text
    assert "1 hold, 0 fail" in text


def test_sections_of_the_caller_have_their_place(parsed):
    names = [a["id"] for a in parsed.all("section")]
    assert names == ["effect", "claims", "figures", "own", "speed"]


def test_every_benchmark_has_its_command_and_origin(parsed):
    commands = {re.sub(" > .*", "", code) for code in parsed.texts["code"]}
    assert {f"fractal bench {name} --json" for name in BENCHMARKS} <= commands
    measured = [note for note in parsed.texts["p"] if note.startswith("Measured with: ")]
    assert len(measured) == len(BENCHMARKS)
    assert all("commit" in note and "date" in note for note in measured)


def test_what_is_missing_is_named_with_the_command_that_writes_it():
    found = evidence.speed_section(dict.fromkeys(BENCHMARKS))
    html = render("t", "l", [found])
    for name in BENCHMARKS:
        assert f"benchmarks/{name}.json is missing. <code>fractal bench {name} --json" in html


def test_a_row_has_its_numbers_in_their_columns_and_the_best_in_bold():
    rows = [("a", 1, Spread(0.5, 0.1, 2)), ("b", 2, Spread(0.25, 0.1, 2)), ("c", None, 3.0)]
    best = {"score": "highest"}
    html = page_of(Table("cap", ("name", "n", "score"), rows[:2], "make x", best=best))
    assert (
        '<tr><th scope="row">a</th><td class="number">1</td>'
        '<td class="number"><strong>0.500 ± 0.100</strong></td></tr>'
    ) in html
    assert '<td class="number">0.250 ± 0.100</td>' in html
    assert "<code>make x</code>" in html
    assert "<td>–</td>" in page_of(Table("cap", ("name", "n", "score"), rows[2:], ""))


def test_text_is_escaped_everywhere():
    figure = Figure(figsize=(2, 2))
    figure.subplots().set_title(EVIL.replace("$", r"\$"))
    table = Table(EVIL, (EVIL,), [(EVIL,)], EVIL, EVIL)
    html = page_of(
        Text(EVIL), table, Charts([Chart(EVIL, EVIL, figure)]), Folded(EVIL, [Text("`<b>`")]),
        missing(EVIL, EVIL),
    )  # fmt: skip
    parsed = check_self_contained(html)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert len(parsed.all("script")) == 1
    assert "<code>&lt;b&gt;</code>" in html
    render(EVIL, EVIL, [Section("s", EVIL, [])])


def test_figures_are_themed_by_variables_and_have_ids_of_their_own():
    def figure():
        found = Figure(figsize=(3, 2))
        axes = found.subplots()
        axes.plot([0, 1, 2], [0, 1, 0], "o-", color="#D55E00", clip_on=True)
        return found

    one, two = svg(figure(), "a"), svg(figure(), "b")
    assert "var(--c1)" in one
    assert "#d55e00" not in one
    assert set(re.findall(r' id="([^"]+)"', one)).isdisjoint(re.findall(r' id="([^"]+)"', two))
    check_self_contained(f'<html><body>{one}{two}<a id="x" href="#x">x</a></body></html>')


def test_a_figure_is_the_same_every_time():
    def figure():
        found = Figure(figsize=(3, 2))
        found.subplots().plot([0, 1], [0, 1])
        return svg(found, "a")

    assert figure() == figure()


def test_frames_of_the_slider_are_marked_by_their_alpha(text):
    frames = re.findall(r'class="frame( now)?" data-frame="([^"]+)"', text)
    assert {alpha for _, alpha in frames} == {"0.00", "0.50", "0.90"}
    assert {alpha for now, alpha in frames if now} == {"0.50"}


def test_the_slider_shows_the_theory(recalled):
    assert (alpha_sweep.ALPHAS[0], alpha_sweep.ALPHAS[-1], len(alpha_sweep.ALPHAS)) == (0, 0.9, 19)
    (axes,) = alpha_sweep.measure_figure(ALPHAS).axes
    lines = {line.get_gid(): line for line in axes.lines}
    ages = lines["frame0.50 now"].get_xdata()
    np.testing.assert_allclose(lines["frame0.50 now"].get_ydata(), 0.5 * ages**-0.5)
    np.testing.assert_allclose(lines["frame0.00"].get_ydata(), 1.0)
    assert sorted(alpha_sweep.eigenvalues(0.0)) == list(range(1, 65))  # LegS
    assert min(np.real(alpha_sweep.eigenvalues(0.9))) > 0.5
    # The most recent tenth has 0.1^(1 − α) of the weight.
    assert "has 32% of the weight (LegS 10%)" in alpha_sweep.summary(recalled["noise"], 0.5)


def test_the_slider_recalls_as_the_best_projection_does(recalled):
    u = alpha_sweep.signals()["jumps"]
    legs, ages = theory.LegS(), np.linspace(0.01, 0.99, 50)
    index = np.clip(((1 - ages) * len(u)).astype(int), 0, len(u) - 1)
    middle = 1 - (index + 0.5) / len(u)
    expected = theory.recall(legs, theory.project(legs, u, alpha_sweep.ORDER), middle)
    np.testing.assert_allclose(recalled["jumps"].values[0.0][index], expected, atol=2e-3)


def test_the_condition_numbers_are_on_the_page(text):
    assert f"{condition_numbers()[-1].published:.1e}" in text


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_benchmarks_of_the_repository_have_their_provenance(name):
    import json

    found = json.loads((ROOT / "benchmarks" / f"{name}.json").read_text())["provenance"]
    assert set(found) == {"commit", "date", "versions", "machine", "command"}
    assert read_benchmark(ROOT / "benchmarks", name) is not None
