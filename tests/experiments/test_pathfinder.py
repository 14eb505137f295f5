import dataclasses
import json

import pytest

from experiments import laptop_table, pathfinder, runs
from experiments.results import read_experiment
from result_lines import all_lines, write


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        ("fractal, no period", {"model.options"}),
        ("fractal, period 32, pretrained", {"pretrain"}),
        ("fractal, period 32, order 16", {"model.options"}),
        ("fractal, period 32, gate of S5", {"model.gate"}),
        ("s5", {"model.name", "model.options"}),
    ],
)
def test_cases_differ_from_the_one_with_a_period_only_as_their_names_say(model, changed):
    given, other = (
        _settings(pathfinder.settings("pathfinder_6", name, 0))
        for name in ("fractal, period 32", model)
    )
    assert {name for name in given if given[name] != other[name]} == changed


def _settings(config):
    """All settings by name, those of sections as `section.name`."""
    found = {}
    for name, value in dataclasses.asdict(config).items():
        sections = ("data", "model", "optimizer")
        found |= {f"{name}.{k}": v for k, v in value.items()} if name in sections else {name: value}
    return found


def test_the_curve_is_the_accuracy_on_the_validation_set(tmp_path, monkeypatch):
    lines = [
        {"step": 20, "loss": 0.7},
        {"step": 250, "validation_loss": 0.69, "validation_accuracy": 0.51234},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    scores = {"parameters": 9, "steps": 4, "validation_accuracy": 0.6, "test_accuracy": 0.5}
    monkeypatch.setattr(runs, "early_loss", lambda *_: 0.7)
    monkeypatch.setattr(runs, "late_loss", lambda *_: 0.6)
    run = runs.Trained(tmp_path, None, None, scores, [[20, 0.7]], 1.0)  # pyright: ignore
    monkeypatch.setattr(runs, "trained", lambda _: run)
    line = pathfinder.measure("pathfinder_6", "fractal, period 32, pretrained", 0)
    assert line["curve"] == [[250, 0.5123]]
    assert (line["pretrain"], line["test_accuracy"]) == (400, 0.5)


def test_the_table_has_a_column_for_each_evaluation(tmp_path):
    lines = all_lines()["pathfinder"]
    lines[0]["curve"] = [[10, 0.5]]
    write(tmp_path, {"pathfinder": lines})
    table = laptop_table.pathfinder(read_experiment(tmp_path, "pathfinder") or [])
    assert table.header[4:] == ("10", "20", "test")
    assert table.rows[0][:2] == ("6 dashes", "s5")
    assert table.rows[0][4:] == ("0.500", None, "0.800")
