"""The files of docs/extending.md: a mixer, a block, a model and a task, each in one file."""

import json
import pathlib
import subprocess
import sys

import pytest

FILES = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "extending"
SMALL = ("--steps", "4", "--data.batch", "8", "--model.width", "8", "--model.depth", "1")


def run(*arguments):
    """Run Python in a process of its own, so that nothing stays registered here."""
    result = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def plugins(*names):
    return [part for name in names for part in ("--plugin", FILES / f"{name}.py")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of the mixer on the task, by the command line."""
    folder = tmp_path_factory.mktemp("extending") / "averages"
    command = ("-m", "fractal.cli", "train", "sweeps", "--model", "averages", "--out", folder)
    run(*command, *plugins("task", "mixer"), *SMALL)
    return folder


def test_a_custom_mixer_trains_on_a_custom_task(folder):
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert 0 <= result["test_accuracy"] <= 1
    assert (folder / "model.safetensors").exists()


def test_it_loads_once_its_file_is_imported_and_not_before(folder):
    code = f"""
import importlib.util, sys
import numpy as np
import fractal
from fractal import train

path = r"{folder / "model.safetensors"}"
try:
    fractal.load(path)
except ValueError as error:
    assert "averages.MovingAverages" in str(error), error
else:
    raise SystemExit("a class that is not registered was loaded")
for name in ("mixer", "model", "task"):
    spec = importlib.util.spec_from_file_location(name, rf"{FILES}/" + name + ".py")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
model = fractal.load(path)
assert isinstance(model.blocks[0].mixer, sys.modules["mixer"].MovingAverages)
assert model(np.ones((50, 1), np.float32)).shape == (2,)
scores = train.evaluate_run(r"{folder}")
assert 0 <= scores["test_accuracy"] <= 1, scores

config = train.Config(
    train.DataConfig("sweeps", batch=8),
    model=train.ModelConfig("deep_set", width=8, depth=1),
    optimizer=train.OptimizerConfig(warmup=0),
    steps=4,
)
other = r"{folder.parent / "deep_set"}"
train.train(config, other)
assert isinstance(fractal.load(other + "/model.safetensors"), sys.modules["model"].DeepSet)
"""
    run("-c", code)


def test_compare_matches_a_custom_block_with_a_custom_mixer(tmp_path):
    command = ("-m", "fractal.cli", "compare", "sweeps", "--models", "feed_forward,averages")
    given = plugins("task", "mixer", "block")
    run(*command, "--seeds", "1", "--out", tmp_path / "compare", *given, *SMALL)
    lines = (tmp_path / "compare" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["model"] for line in lines} == {"averages", "feed_forward"}
