"""The page with the sections of all experiments."""

import pytest

from experiments import (
    forecast_tables,
    laptop_table,
    learned_clock,
    page,
    series_tables,
    stream_tables,
    summaries,
)
from experiments.results import EXPERIMENTS, read_experiment
from fractal.report.pages.page import render
from fractal.report.table import shown
from pages import check_self_contained
from result_lines import all_lines, write


def rendered(folder, lines):
    write(folder, lines)
    return render("title", "lead", page.sections(folder))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return rendered(tmp_path_factory.mktemp("results"), all_lines())


def test_every_cell_of_the_experiments_is_on_the_page(text, tmp_path):
    write(tmp_path, all_lines())
    lines = {name: read_experiment(tmp_path, name) or [] for name in EXPERIMENTS}
    tables = [
        *summaries.recall(lines["recall"]),
        summaries.initialization(lines["initialization"]),
        summaries.filter_bank(lines["filter_bank"]),
        *summaries.clock(lines["clock"]).values(),
        summaries.models(lines["models"]),
        summaries.long_memory(lines["long_memory"]),
        learned_clock.selective(lines["selective"]),
        learned_clock.full_budget(lines["full_budget"]),
        learned_clock.synthetic(lines["synthetic"]),
        learned_clock.induction(lines["induction"]),
        learned_clock.morse(lines["morse"]),
        learned_clock.speech(lines["speech"]),
        laptop_table.table(lines["laptop"]),
        laptop_table.pathfinder(lines["pathfinder"]),
        *series_tables.tables(lines["own_series"]),
        *forecast_tables.tables(lines["forecast"]),
        stream_tables.beats(lines["ecg"]),
    ]
    parsed = check_self_contained(text)
    on_page = {t for tag in ("td", "th", "strong") for t in parsed.texts[tag]}
    assert {shown(cell) for table in tables for row in table.rows for cell in row} <= on_page
    assert {f"python -m experiments.{name}" for name in EXPERIMENTS} <= set(parsed.texts["code"])
    assert "predate the current code (unknown commit)" in text


def test_names_in_results_are_never_read_as_html(tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&$\\frac$"
    lines = {
        name: [{k: evil if isinstance(v, str) else v for k, v in line.items()} for line in some]
        for name, some in all_lines().items()
    }
    lines["clock"][0]["accuracy"] = {evil: 0.5}
    text = rendered(tmp_path, lines)
    parsed = check_self_contained(text)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert evil in parsed.texts["th"]


def test_missing_results_are_named_with_their_command(tmp_path):
    text = render("title", "lead", page.sections(tmp_path))
    for name in EXPERIMENTS:
        assert f"results/{name}.jsonl is missing. <code>python -m experiments.{name}</code>" in text
    assert "61.85" in text


def test_a_diverged_run_does_not_break_the_page(tmp_path):
    lines = all_lines()
    lines["models"][0] |= {"late_loss": None, "test_accuracy": None, "curve": [[10, None]]}
    lines["recall"][0]["error"][0] = None
    assert "not finite" in rendered(tmp_path, lines)
