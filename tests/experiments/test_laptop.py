import hashlib
import json

import pytest

from experiments import laptop, laptop_table, page_charts
from experiments.results import read_experiment
from result_lines import all_lines, write


def test_scores_stand_beside_published_ones_except_for_substituted_data(tmp_path):
    write(tmp_path, {"laptop": all_lines()["laptop"]})
    table = laptop_table.table(read_experiment(tmp_path, "laptop") or [])
    rows = {(row[0], row[1]): row for row in table.rows}
    assert len(rows) == 6
    assert rows["Text", "FRACTAL"][2] == "81.25"
    assert rows["Text", "S5"][2] == "75.00"
    assert rows["Text", "S5"][-3:] == ("64.27", "86.82", "89.31")
    for task in ("Retrieval", "sequential MNIST"):
        assert rows[task, "FRACTAL"][-3:] == (None, None, None)


def test_the_summary_has_one_row_per_task_with_the_scores_of_both_models(tmp_path):
    lines = all_lines()["laptop"]
    lines.append(lines[1] | {"seed": 1, "test_accuracy": 0.76})  # a second seed of S5 on Text
    without = [one for one in lines if (one["task"], one["model"]) != ("smnist", "s5")]
    write(tmp_path, {"laptop": without})
    table = laptop_table.summary(read_experiment(tmp_path, "laptop") or [])
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["Text", "Retrieval", "sequential MNIST"]
    assert rows["Text"] == ("81.25", "75.50 ± 0.71", "50.00", "64.27", "86.82", "89.31")
    assert rows["sequential MNIST"][:2] == ("81.25", None)
    assert rows["Retrieval"][3:] == (None, None, None)


def test_every_task_has_a_chart_with_the_curves_of_its_models(tmp_path):
    write(tmp_path, {"laptop": all_lines()["laptop"]})
    found = laptop_table.by_task(read_experiment(tmp_path, "laptop") or [])
    charts = page_charts.validation_curves(found)
    assert [chart.title for chart in charts] == ["text", "retrieval", "smnist"]
    for chart in charts:
        (axes,) = chart.figure.axes
        drawn = {line.get_label(): line.get_ydata()[-1] for line in axes.lines}
        assert drawn == {"fractal": pytest.approx(1.8125), "s5": pytest.approx(1.75)}


def test_cpu_time_is_summed_over_processes(tmp_path):
    (tmp_path / "cpu_seconds.txt").write_text("5000\n")
    logger = laptop.CpuTime(tmp_path)
    logger.log({}, 1)
    assert 5000 <= laptop.cpu_seconds(tmp_path) < 5060
    (tmp_path / "cpu_seconds.txt").write_text("")
    assert laptop.cpu_seconds(tmp_path) == 0


def test_a_line_has_the_scores_the_cost_and_the_curve_of_a_finished_run(tmp_path, monkeypatch):
    monkeypatch.setattr(laptop, "cores", lambda: 2)
    monkeypatch.setattr(laptop, "load_task", lambda *_, **__: None)
    baselines = {"majority_class": 0.1, "bag_of_tokens": 0.2}
    monkeypatch.setattr(laptop, "trivial_baselines", lambda _: dict(baselines))
    config = laptop.settings("smnist", "s5", 3)
    assert (config.seed, config.model.name, config.data.preset) == (3, "s5", "laptop")
    result = {
        "parameters": 60_000, "steps": config.steps, "best_step": 1080, "validation_accuracy": 0.98,
        "test_accuracy": 0.97, "test_loss": 0.1, "seconds": 7200.0,
        "provenance": {"commit": "abc"},
    }  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(result))
    lines = [{"step": 20, "loss": 2.0}, {"step": 540, "validation_accuracy": 0.9}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (tmp_path / "cpu_seconds.txt").write_text("3600\n")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    line = laptop.summary(config, tmp_path)
    assert line["sha256"] == hashlib.sha256(b"weights").hexdigest()
    assert (line["hours"], line["cpu_hours"], line["cores"]) == (2.0, 1.0, 2)
    assert line["curve"] == [[540, 0.9]]
    assert line["examples"] == 5400 * 50
    assert line["provenance"] == {"commit": "abc"}
    assert line["settings"]["model"]["name"] == "s5"


def test_an_unknown_task_is_rejected():
    with pytest.raises(ValueError, match="there is no task or model 'pathx' here"):
        laptop.main(["pathx"])


def test_names_choose_tasks_and_models(monkeypatch):
    made = []
    monkeypatch.setattr(laptop, "record", lambda case: made.append((case["model"], case["task"])))
    laptop.main(["text", "s5", "image"])
    assert made == [("s5", "text"), ("s5", "image")]
    made.clear()
    laptop.main([])
    assert made == [(model, task) for model in laptop.MODELS for task in laptop.TASKS]


def test_a_run_is_recorded_once_and_again_when_its_line_is_stale(tmp_path, monkeypatch):
    monkeypatch.setattr(laptop.code, "ROOT", tmp_path)
    (tmp_path / "results").mkdir()
    path, calls = tmp_path / "results" / "laptop.jsonl", []
    monkeypatch.setattr(
        laptop, "measure", lambda **case: calls.append(case) or case | {"code": "code text"}
    )
    monkeypatch.setattr(laptop.results, "code_of", lambda name, case: f"code {case['task']}")
    case = {"task": "text", "model": "s5", "seed": 0}
    other = {"task": "image", "model": "s5", "seed": 0, "code": "code image"}
    path.write_text("".join(json.dumps(x) + "\n" for x in (case | {"code": "old"}, other)))
    laptop.record(case)
    laptop.record(case)
    assert calls == [case]
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found == [case | {"code": "code text"}, other]


def test_a_run_of_other_code_or_settings_is_neither_reused_nor_resumed(tmp_path, monkeypatch):
    codes, folders = ["first"], []
    monkeypatch.setattr(laptop, "RUNS", tmp_path)
    monkeypatch.setattr(laptop.results, "code_of", lambda name, case: codes[-1])
    monkeypatch.setattr(laptop, "summary", lambda config, folder: {})

    def train(config, folder, *, resume, **options):
        codes.append("changed in the meantime")
        folders.append((folder.name, resume))
        for name in ("config.json", "result.json", "model.safetensors", "predictions.safetensors"):
            folder.mkdir(exist_ok=True)
            (folder / name).touch()

    monkeypatch.setattr(laptop, "train", train)
    case = {"task": "smnist", "model": "s5", "seed": 0}
    assert laptop.measure(**case)["code"] == "first"
    codes.append("second")
    assert laptop.measure(**case)["code"] == "second"
    codes.append("first")
    assert laptop.measure(**case)["code"] == "first"
    assert folders == [("smnist-s5-0-first", False), ("smnist-s5-0-second", False)]
