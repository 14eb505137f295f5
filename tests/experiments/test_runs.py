import json
import os
import sys

import pytest

import fractal
from experiments import runs
from fractal._errors import UserError


def square(number, seed):
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}  # not on macOS
    return {"square": number**2, "core": list(cores)}


def test_an_experiment_measures_what_is_missing_and_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    path = tmp_path / "results" / "some.jsonl"
    path.parent.mkdir()
    done = [{"number": n, "seed": 0, "square": "done before", "core": [0]} for n in range(2)]
    path.write_text("".join(json.dumps(line) + "\n" for line in done))
    runs.run("some", [{"number": n, "seed": 0} for n in range(5)], square)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found[:2] == done
    assert sorted(line["square"] for line in found[2:]) == [4, 9, 16]
    assert all(len(line["core"]) == 1 for line in found)


def fails_at_first(number, seed):
    raise UserError(f"no data for {number}")


def test_a_mistake_of_the_user_is_one_line_and_leaves_what_was_measured(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments"])
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    (tmp_path / "results").mkdir()
    kept = tmp_path / "results" / "some.jsonl"
    kept.write_text('{"number": 0}\n')
    with pytest.raises(SystemExit) as stopped:
        runs.main(lambda: runs.run("some", [{"number": 1, "seed": 0}], fails_at_first))
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "no data for 1\n"
    assert kept.read_text() == '{"number": 0}\n'


def test_an_argument_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments", "--seeds", "1"])
    with pytest.raises(SystemExit):
        runs.main(lambda: None)
    assert capsys.readouterr().err == "experiments take no arguments, got --seeds 1\n"


def test_a_model_is_trained_anew_when_the_code_that_trains_it_has_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(fractal, "__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "nn").mkdir()
    found = []
    for text in ("dt = 3", "dt = 4", "dt = 3"):
        (tmp_path / "nn" / "a.py").write_text(text)
        runs._code.cache_clear()
        found.append(runs._code())
    runs._code.cache_clear()
    assert found[0] == found[2] != found[1]


def test_early_and_late_loss_are_those_of_the_first_and_last_tenth():
    curve = [[10 * i, float(i)] for i in range(1, 21)]
    scores = dict.fromkeys(("parameters", "steps", "validation_accuracy", "test_accuracy"), 1)
    summary = runs.Trained(None, None, scores, curve, 0.0).summary()
    assert (summary["early_loss"], summary["late_loss"]) == (1.5, 19.5)
