"""Comparisons that were interrupted, and the files of a run that they read."""

import dataclasses
import json

import pytest

from fractal._errors import UserError
from fractal._run_folder import is_finished
from fractal.train import compare, early_loss, late_loss, learning_curve, read_result, summarize
from fractal.train._metrics import MetricsLogger


@pytest.mark.parametrize("name", ["result.json", "model.safetensors", "predictions.safetensors"])
def test_a_run_without_one_of_its_last_files_is_not_finished(tmp_path, name):
    for file in ("result.json", "model.safetensors", "predictions.safetensors"):
        (tmp_path / file).touch()
    assert is_finished(tmp_path)
    (tmp_path / name).unlink()
    assert not is_finished(tmp_path)


def test_a_run_without_its_last_file_is_finished_again(tiny, tmp_path):
    """The result is written before the weights and the predictions."""
    name = "predictions.safetensors"
    short = dataclasses.replace(tiny, steps=4, evaluate_every=4, checkpoint_every=4)
    (first,) = compare([short], tmp_path)
    before = (tmp_path / "fractal-0" / name).read_bytes()
    (tmp_path / "fractal-0" / name).unlink()
    (second,) = compare([short], tmp_path)
    assert (tmp_path / "fractal-0" / name).read_bytes() == before
    assert second["test_loss"] == first["test_loss"]
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert lines == [second]  # one line per run
    assert list(compare([short], tmp_path)) == [second]


def write_metrics(folder, content):
    (folder / "metrics.jsonl").write_bytes(content)
    return folder


def test_a_cut_last_line_is_left_out(tmp_path):
    run = write_metrics(tmp_path, b'{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}\n{"step": 3')
    assert learning_curve(run) == ([1, 2], [2.0, 1.0])
    assert (early_loss(run, 10), late_loss(run, 2)) == (2.0, 1.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"loss": 2.0}\n', "line 1: has no step"),
        (b"[1]\n", "line 1: is not a JSON object"),
        (b"\xff\xfe\n", "line 1: is not JSON"),
        (b'{"step": true}\n', "line 1: has no step"),
    ],
)
def test_invalid_metrics_are_named_in_one_line_and_lost_on_resuming(tmp_path, content, message):
    run = write_metrics(tmp_path, b'{"step": 1, "loss": 2.0}\n' + content)
    with pytest.raises(UserError, match=message.replace("line 1", "line 2")):
        learning_curve(run)
    MetricsLogger(run, 5, 10, 1, True).close()
    assert learning_curve(run) == ([1], [2.0])


@pytest.mark.parametrize("content", ["[1]", "{", "3"])
def test_an_invalid_result_is_one_line(tmp_path, content):
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(UserError, match=r"result.json: is not (a )?JSON"):
        read_result(tmp_path)


def test_a_run_without_losses_has_no_early_loss(tmp_path):
    with pytest.raises(UserError, match="has no training losses yet"):
        early_loss(write_metrics(tmp_path, b""), 10)


@pytest.mark.parametrize("results", [[{}], [{"model": "a", "metric": "accuracy"}]])
def test_a_summary_of_something_else_is_rejected(tmp_path, results):
    with pytest.raises(ValueError, match="results must be"):
        summarize(results, tmp_path)
