import dataclasses
import json
import os
import shutil
import signal
import sys
import types
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fractal
from fractal._errors import UserError
from fractal._files import read_tensors
from fractal.tasks import Batches
from fractal.train import (
    CheckpointMismatch,
    Interrupted,
    RunExists,
    evaluate,
    evaluate_run,
    initial_state,
    load_task,
    read_config,
    train,
)
from fractal.train import _checkpoints as checkpoints
from fractal.train import _loop as loop
from fractal.train._devices import Devices
from fractal.train._evaluation import predict
from fractal.train._metrics import MetricsLogger, find_loggers, open_loggers


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def scores(run):
    return json.loads((run / "result.json").read_text())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def whole(tiny, runs):
    """A run without interruption, made once."""
    if not (runs / "whole").exists():
        train(tiny, runs / "whole")
    return runs / "whole"


def test_a_run_leaves_settings_metrics_checkpoints_weights_and_scores(whole, tiny):
    result = scores(whole)
    assert result["test_accuracy"] == evaluate_run(whole)["test_accuracy"]
    assert result["steps"] == 24
    assert result["seconds"] > 0
    assert result["examples_per_second"] == 24 * 8 / result["seconds"]
    assert result["peak_memory_bytes"] > 1e7
    assert set(result["provenance"]) == {"commit", "date", "versions", "machine", "command"}
    steps = [line["step"] for line in lines(whole) if "loss" in line]
    assert steps == [4, 8, 12, 16, 20, 24]
    evaluated = {
        line["step"]: line["validation_accuracy"]
        for line in lines(whole)
        if "validation_accuracy" in line
    }
    assert list(evaluated) == [8, 16, 24]
    assert evaluated[result["best_step"]] == max(evaluated.values())
    model = fractal.load(whole / "model.safetensors")
    assert model.blocks[0].mixer.B.shape == (16, 8)


def test_the_scores_are_those_of_a_plain_loop_over_the_test_set(whole, tiny):
    model, task = fractal.load(whole / "model.safetensors"), load_task(tiny)
    correct = []
    compiled = jax.jit(lambda x, count: model(x, lengths=count))
    for i, label in enumerate(task.splits.test.labels):
        (tokens,) = task.splits.test.documents(i)
        padded = np.zeros(task.length, int)
        padded[: len(tokens)] = tokens
        logits = compiled(padded, len(tokens))
        correct.append(int(jnp.argmax(logits)) == label)
    assert scores(whole)["test_accuracy"] == np.mean(correct)


def test_the_predictions_are_those_of_the_saved_model(whole, tiny):
    tensors, _ = read_tensors(whole / "predictions.safetensors", "fractal.predictions", 1)
    model, task = fractal.load(whole / "model.safetensors"), load_task(tiny)
    np.testing.assert_array_equal(tensors["targets"], task.splits.test.labels)
    accuracy = np.mean(tensors["logits"].argmax(axis=1) == tensors["targets"])
    assert accuracy == evaluate(model, task)["accuracy"] == scores(whole)["test_accuracy"]


def test_buckets_change_no_prediction_and_keep_the_order_of_the_split(whole, tiny):
    model, task = fractal.load(whole / "model.safetensors"), load_task(tiny)
    one, four = (
        predict(model, task, task.splits.test, Devices(), batch=4, buckets=buckets)
        for buckets in (1, 4)
    )
    np.testing.assert_array_equal(four.targets, one.targets)
    np.testing.assert_allclose(four.logits, one.logits, atol=1e-5)


def test_resuming_in_buckets_reproduces_the_losses_exactly(tiny, tmp_path):
    data = dataclasses.replace(tiny.data, buckets=3)
    config = dataclasses.replace(tiny, data=data, steps=8, evaluate_every=8, checkpoint_every=3)
    train(config, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / "checkpoints" / "last" / "8")
    shutil.rmtree(tmp_path / "cut" / "checkpoints" / "best")
    train(config, tmp_path / "cut", resume=True)
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")
    assert scores(tmp_path / "cut")["test_loss"] == scores(tmp_path / "whole")["test_loss"]


def test_scores_are_written_before_the_weights(whole):
    order = ["result.json", "model.safetensors", "predictions.safetensors"]
    times = [(whole / name).stat().st_mtime_ns for name in order]
    assert times == sorted(times)


@pytest.mark.parametrize(
    "signal_number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_resuming_an_interrupted_run_reproduces_its_losses_exactly(
    whole, tiny, tmp_path, monkeypatch, signal_number
):
    seen = []

    def interrupting(self, batch):
        seen.append(batch)
        if len(seen) == 11:
            os.kill(os.getpid(), signal_number)
        return original(self, batch)

    original = loop.Devices.share
    monkeypatch.setattr(loop.Devices, "share", interrupting)
    with pytest.raises(Interrupted, match=r"interrupted after step \d+: resume the run in"):
        train(tiny, tmp_path / "run")
    monkeypatch.setattr(loop.Devices, "share", original)
    train(tiny, tmp_path / "run", resume=True)
    assert lines(tmp_path / "run") == lines(whole)
    one, other = (fractal.load(run / "model.safetensors") for run in (tmp_path / "run", whole))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_seed_gives_other_weights_and_another_order_of_the_data(tiny):
    task = load_task(tiny)
    one, other = (initial_state(dataclasses.replace(tiny, seed=seed), task) for seed in (0, 1))
    assert not np.array_equal(one.model.head.weight, other.model.head.weight)
    batches = [Batches(task, task.splits.train, 8, training=True, seed=seed) for seed in (0, 1)]
    assert not np.array_equal(batches[0][0].inputs, batches[1][0].inputs)


class Listed:
    """A logger of one's own."""

    def __init__(self):
        self.lines, self.finished = [], False

    def log(self, metrics, step):
        self.lines.append((step, metrics))

    def finish(self):
        self.finished = True


def test_a_run_is_reproduced_from_its_json_alone_and_an_object_logs_its_metrics(whole, tmp_path):
    logger = Listed()
    train(read_config(whole / "config.json"), tmp_path / "run", loggers=[logger])
    assert lines(tmp_path / "run") == lines(whole)
    assert [{"step": step, **metrics} for step, metrics in logger.lines] == lines(whole)
    assert logger.finished


@pytest.mark.slow
def test_resuming_reproduces_averaged_weights_and_batch_norm_exactly(batch_normed, tmp_path):
    optimizer = dataclasses.replace(batch_normed.optimizer, ema=0.9, clip=1.0)
    config = dataclasses.replace(batch_normed, optimizer=optimizer)
    train(config, tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "part")
    shutil.rmtree(tmp_path / "part" / "checkpoints" / "last" / "24")
    train(config, tmp_path / "part", resume=True)
    assert lines(tmp_path / "part") == lines(tmp_path / "whole")
    one, other = (evaluate_run(tmp_path / run) for run in ("part", "whole"))
    assert one == other


def test_a_corrupted_checkpoint_is_named_and_the_previous_one_used(whole, tiny, tmp_path, capsys):
    shutil.copytree(whole, tmp_path / "run")
    newest = tmp_path / "run" / "checkpoints" / "last" / "24"
    for path in newest.rglob("*"):
        if path.is_file() and path.stat().st_size > 200:
            path.write_bytes(path.read_bytes()[:100])
    train(tiny, tmp_path / "run", resume=True)
    said = capsys.readouterr().err
    assert f"checkpoint {newest} is corrupted" in said
    assert "resuming after step 18" in said
    assert lines(tmp_path / "run") == lines(whole)


@pytest.mark.parametrize("corruption", ["truncated", "changed", "missing", "no manifest"])
def test_every_corruption_of_a_file_is_detected(whole, tiny, tmp_path, corruption):
    shutil.copytree(whole / "checkpoints", tmp_path / "checkpoints")
    newest = tmp_path / "checkpoints" / "last" / "24"
    path = max((x for x in newest.rglob("d/*") if x.is_file()), key=lambda x: x.stat().st_size)
    content = path.read_bytes()
    match corruption:
        case "truncated":
            path.write_bytes(content[: len(content) // 2])
        case "changed":
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        case "missing":
            path.unlink()
        case "no manifest":
            (newest / "fractal.json").unlink()
    messages = []
    found = checkpoints.Checkpoints(tmp_path / "checkpoints", 2)
    step, _ = found.last(initial_state(tiny, load_task(tiny)), messages.append)
    assert step == 18
    assert messages == [f"checkpoint {newest} is corrupted and skipped"]


def test_a_checkpoint_of_another_model_or_optimizer_is_a_mismatch(whole, tiny, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    wider = dataclasses.replace(tiny, model=dataclasses.replace(tiny.model, width=16))
    (tmp_path / "run" / "config.json").write_text(wider.to_json())
    with pytest.raises(CheckpointMismatch, match=r"has float32\[.*8.*\] for .*, the settings"):
        evaluate_run(tmp_path / "run")
    averaged = dataclasses.replace(tiny, optimizer=dataclasses.replace(tiny.optimizer, ema=0.9))
    (tmp_path / "run" / "config.json").write_text(averaged.to_json())
    with pytest.raises(CheckpointMismatch, match=r"has no array for \.average"):
        train(averaged, tmp_path / "run", resume=True)


def test_settings_and_weights_are_sufficient_for_the_score_of_a_run(whole, tmp_path):
    for name in ("config.json", "model.safetensors"):
        shutil.copy(whole / name, tmp_path)
    found, known = evaluate_run(tmp_path), evaluate_run(whole)
    assert found == {name: known[name] for name in found}
    assert {"test_accuracy", "test_loss", "parameters"} <= set(found)


def test_weights_of_another_model_than_that_of_the_settings_are_rejected(whole, tiny, tmp_path):
    shutil.copy(whole / "model.safetensors", tmp_path)
    other = dataclasses.replace(tiny, model=dataclasses.replace(tiny.model, width=16))
    (tmp_path / "config.json").write_text(other.to_json())
    with pytest.raises(UserError, match=r"model\.safetensors is not that of .*config\.json"):
        evaluate_run(tmp_path)


def test_damaged_weights_are_one_line(whole, tmp_path):
    shutil.copy(whole / "config.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(UserError, match=r"safetensors is not a model that fractal\.save wrote"):
        evaluate_run(tmp_path)


def test_a_folder_with_neither_checkpoints_nor_weights_is_rejected(whole, tmp_path):
    shutil.copy(whole / "config.json", tmp_path)
    with pytest.raises(UserError, match=r"neither checkpoints nor model\.safetensors"):
        evaluate_run(tmp_path)


def test_the_provenance_of_a_run_is_that_of_its_start(tiny, tmp_path, monkeypatch):
    commits, run_steps = ["first"], loop.run_steps

    def while_files_change(*arguments, **options):
        commits.append("second")
        return run_steps(*arguments, **options)

    monkeypatch.setattr(loop, "provenance", lambda: {"commit": commits[-1]})
    monkeypatch.setattr(loop, "run_steps", while_files_change)
    assert train(tiny, tmp_path / "run")["provenance"] == {"commit": "first"}


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_checkpoint(tiny, tmp_path):
    optimizer = dataclasses.replace(tiny.optimizer, lr=1e30, warmup=0)
    with pytest.raises(UserError, match=r"diverged by step \d+: .*lower optimizer\.lr"):
        train(dataclasses.replace(tiny, optimizer=optimizer, checkpoint_every=1), tmp_path / "run")
    kept = sorted(int(path.name) for path in (tmp_path / "run/checkpoints/last").iterdir())
    assert all(step < 4 for step in kept)
    assert not (tmp_path / "run" / "result.json").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"data": {"batch": 481}}, "larger than the data"),
        ({"model": {"name": "s55"}}, "did you mean s5"),
        ({"model": {"options": {"ordr": 4}}}, "did you mean order"),
        ({"model": {"options": {"order": 3}}}, "order must be"),
        ({"data": {"folder": "/nowhere"}}, "is not a folder"),
        ({"data": {"task": "listpos"}}, "did you mean listops"),
    ],
)
def test_an_invalid_run_is_rejected_before_anything_is_written(tiny, tmp_path, change, complaint):
    ((part, values),) = change.items()
    config = dataclasses.replace(tiny, **{part: dataclasses.replace(getattr(tiny, part), **values)})
    with pytest.raises(UserError, match=complaint):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_folder_of_another_run_is_left_alone(whole, tiny, tmp_path):
    with pytest.raises(RunExists, match="already contains a run: resume it"):
        train(tiny, whole)
    with pytest.raises(UserError, match="other settings"):
        train(dataclasses.replace(tiny, seed=5), whole, resume=True)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write|Not a directory"):
        train(tiny, tmp_path / "file" / "run")
    with pytest.raises(UserError, match="cannot read"):
        evaluate_run(tmp_path)


def test_metrics_that_were_cut_off_are_taken_back(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 4, "loss": 1}\n{"step": 8, "loss": 2}\n{"step": 12, "lo')
    MetricsLogger(tmp_path, 4, 24, 8, writes=True).log(8, loss=3.0)
    assert [line["step"] for line in lines(tmp_path)] == [4, 8]
    assert lines(tmp_path)[1]["loss"] == 3.0


def test_a_logger_that_is_not_installed_is_named(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trackio", None)
    with pytest.raises(UserError, match=r"pip install 'fractal-ssm\[trackio\]'"):
        train(tiny, tmp_path / "run", loggers=["trackio"])
    with pytest.raises(UserError, match="loggers must be some of"):
        train(tiny, tmp_path / "run", loggers=["excel"])
    assert not (tmp_path / "run").exists()


def test_an_interruption_is_not_a_value_error():
    """`except ValueError` around a loop of runs must not continue with the next run."""
    assert issubclass(Interrupted, KeyboardInterrupt)
    assert not issubclass(Interrupted, Exception)


def test_loggers_get_every_number(tmp_path, monkeypatch):
    class Logger:
        seen: ClassVar[list] = []

        def log(self, numbers, step):
            self.seen.append((step, numbers))

        def finish(self):
            self.seen.append("finished")

    module = types.ModuleType("wandb")
    module.init = lambda **_: Logger()
    monkeypatch.setitem(sys.modules, "wandb", module)
    logger = MetricsLogger(
        tmp_path, 0, 24, 8, True, open_loggers(find_loggers(["wandb"]), tmp_path, {})
    )
    logger.log(4, loss=1.0)
    logger.close()
    assert Logger.seen == [(4, {"loss": 1.0}), "finished"]


def test_a_full_disk_is_reported_before_anything_is_written(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=100))
    with pytest.raises(UserError, match=r"no space for a checkpoint in .*; make room"):
        train(tiny, tmp_path / "run")
    assert list((tmp_path / "run" / "checkpoints" / "last").iterdir()) == []


@pytest.mark.parametrize("terminal", [False, True])
def test_the_time_left_is_shown_on_a_terminal_and_elsewhere(
    tmp_path, monkeypatch, capsys, terminal
):
    clock = iter([100.0, 140.0, 140.0, 140.0])
    monkeypatch.setattr("fractal.train._metrics.time.monotonic", lambda: next(clock, 140.0))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    metrics = MetricsLogger(tmp_path, 0, steps=30, batch=8, writes=True)
    metrics.show(10, loss=0.5)
    metrics.close()
    assert "2 examples/s, loss 0.5, 0:01:20 left" in capsys.readouterr().err
