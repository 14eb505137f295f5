import json
import os

from experiments import runs


def square(number, seed):
    return {"square": number**2, "process": os.getpid(), "core": list(os.sched_getaffinity(0))}


def lines(folder):
    text = (folder / "results" / "some.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_an_experiment_measures_what_is_missing_and_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    (tmp_path / "results").mkdir()
    cases = [{"number": n, "seed": 0} for n in range(5)]
    runs.run("some", cases[:2], square)
    first = lines(tmp_path)
    runs.run("some", cases, square)
    assert lines(tmp_path)[:2] == first
    assert sorted(line["square"] for line in lines(tmp_path)) == [0, 1, 4, 9, 16]
    assert all(len(line["core"]) == 1 for line in lines(tmp_path))


def test_early_and_late_loss_are_those_of_the_first_and_last_tenth():
    curve = [[10 * i, float(i)] for i in range(1, 21)]
    scores = dict.fromkeys(("parameters", "steps", "validation_accuracy", "test_accuracy"), 1)
    summary = runs.Trained(None, None, scores, curve, 0.0).summary()
    assert (summary["early_loss"], summary["late_loss"]) == (1.5, 19.5)
