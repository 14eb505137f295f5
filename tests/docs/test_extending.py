"""The files of docs/extending.md: a mixer, a block, a model and a task, each in one file."""

import json
import pathlib
import subprocess
import sys

import jax
import pytest

import fractal
from fractal import train
from fractal.cli import main
from fractal.cli.plugins import import_plugins

FILES = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "extending"
SMALL = ("--steps", "4", "--data.batch", "8", "--model.width", "8", "--model.depth", "1")


def plugins(*names):
    return [part for name in names for part in ("--plugin", str(FILES / f"{name}.py"))]


@pytest.fixture(scope="module", autouse=True)
def user_promotion():
    """Users write their layers without strict promotion."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of the mixer on the task, by the command line."""
    folder = tmp_path_factory.mktemp("extending") / "averages"
    command = ("train", "sweeps", "--model", "averages", "--out", str(folder))
    assert main([*command, *plugins("task", "mixer"), *SMALL]) == 0
    return folder


def test_a_custom_mixer_trains_on_a_custom_task(folder):
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert 0 <= result["test_accuracy"] <= 1
    assert train.evaluate_run(folder)["test_accuracy"] == result["test_accuracy"]


def test_it_loads_once_its_file_is_imported_and_not_before(folder):
    """In a process of its own, where nothing is registered yet."""
    code = f"""
import sys
import numpy as np
import fractal

path = r"{folder / "model.safetensors"}"
try:
    fractal.load(path)
except ValueError as error:
    assert "averages.MovingAverages" in str(error), error
else:
    raise SystemExit("a class that is not registered was loaded")
sys.path.insert(0, r"{FILES}")
import mixer
model = fractal.load(path)
assert isinstance(model.blocks[0].mixer, mixer.MovingAverages)
assert model(np.ones((50, 1), np.float32)).shape == (2,)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_custom_model_trains_and_loads(tmp_path):
    import_plugins([str(FILES / "task.py"), str(FILES / "model.py")])
    config = train.Config(
        train.DataConfig("sweeps", batch=8),
        model=train.ModelConfig("deep_set", width=8, depth=1),
        optimizer=train.OptimizerConfig(warmup=0),
        steps=4,
    )
    train.train(config, tmp_path / "run")
    model = fractal.load(tmp_path / "run" / "model.safetensors")
    assert type(model).__name__ == "DeepSet"


@pytest.mark.slow
def test_compare_matches_a_custom_block_with_a_custom_mixer(tmp_path):
    command = ("compare", "sweeps", "--models", "feed_forward,averages", "--seeds", "1")
    given = plugins("task", "mixer", "block")
    assert main([*command, "--out", str(tmp_path / "compare"), *given, *SMALL]) == 0
    lines = (tmp_path / "compare" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["model"] for line in lines} == {"averages", "feed_forward"}
