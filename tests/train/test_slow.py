"""Runs that are really killed, and every model in a short run: minutes."""

import dataclasses
import json
import random
import subprocess
import sys
import time

import pytest

from fractal.train import (
    load_task,
    majority_class,
    match_parameters,
    model_names,
    preset,
    train,
    with_steps,
)

pytestmark = pytest.mark.slow

TRAIN = [sys.executable, "-m", "fractal.cli", "train"]
SMALL = ["--model.width", "8", "--model.depth", "1", "--model.options.order", "2"]
SMALL += ["--data.batch", "8", "--model.dropout", "0.1", "--log-every", "7"]
SMALL += ["--checkpoint-every", "15", "--evaluate-every", "40"]
KILLS, STEPS = 20, 3000


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def reached(run):
    """The last step in the metrics, whose last line may be half written."""
    path = run / "metrics.jsonl"
    whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
    return json.loads(whole.splitlines()[-1])["step"] if whole else 0


def test_a_run_killed_twenty_times_has_exactly_the_same_losses(folder, tmp_path):
    """Each time the run is resumed for a random while, and killed without warning."""
    begin = [*TRAIN, "listops", "--steps", str(STEPS), "--data", str(folder), *SMALL]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*begin, "--out", str(whole)], check=True, capture_output=True)

    rng, kills = random.Random(0), 0
    while kills < KILLS and not (killed / "result.json").exists():
        again = (killed / "config.json").exists()
        command = [*TRAIN, "--resume", str(killed)] if again else [*begin, "--out", str(killed)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # A few kills while it starts; most after some new steps, half of the run in all.
        if rng.random() < 0.2:
            time.sleep(rng.uniform(0, 5))
        else:
            until = reached(killed) + rng.uniform(0, STEPS / KILLS)
            while process.poll() is None and reached(killed) < until:
                time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.wait()
        kills += 1
    assert kills == KILLS
    done = subprocess.run(
        [*TRAIN, "--resume", str(killed)], check=True, capture_output=True, text=True
    )
    assert "test accuracy" in done.stdout
    assert lines(killed) == lines(whole)
    one, other = (json.loads((run / "result.json").read_text()) for run in (killed, whole))
    volatile = ("seconds", "examples_per_second", "peak_memory_bytes", "provenance")
    assert all(one[name] == other[name] for name in one if name not in volatile)


@pytest.mark.parametrize("task", ["listops", "image"])
@pytest.mark.parametrize("name", model_names())
def test_every_model_learns(name, task, tmp_path, request):
    """Above the most frequent class by far, in a short run of about 40,000 parameters."""
    if task == "image":
        request.getfixturevalue("cifar")
    config = with_steps(preset(task, "mini", name), 300)
    data = load_task(config)
    config = dataclasses.replace(config, model=match_parameters(config.model, data, 44_000))
    result = train(config, tmp_path / "run")
    assert result["test_accuracy"] > majority_class(data) + 0.08


@pytest.fixture
def cifar():
    from fractal.tasks import image

    if not image.SOURCES.package.folder.is_dir():
        pytest.skip("CIFAR-10 has not been fetched here: fractal data image")
