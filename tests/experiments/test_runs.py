import json
import os

from experiments import runs


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


def test_early_and_late_loss_are_those_of_the_first_and_last_tenth():
    curve = [[10 * i, float(i)] for i in range(1, 21)]
    scores = dict.fromkeys(("parameters", "steps", "validation_accuracy", "test_accuracy"), 1)
    summary = runs.Trained(None, None, scores, curve, 0.0).summary()
    assert (summary["early_loss"], summary["late_loss"]) == (1.5, 19.5)
