"""A user's own mixer, block, model and task: one file and one registration each."""

import dataclasses
import json
import pathlib
import subprocess
import sys

import equinox as eqx
import jax
import numpy as np
import pytest

import fractal
from fractal import tasks
from fractal._errors import UserError
from fractal.cli import main
from fractal.cli.plugins import import_plugins
from fractal.nn import FractalSSM
from fractal.train import (
    DataConfig,
    _models,
    evaluate,
    evaluate_run,
    load_task,
    model_names,
    preset,
    register_model,
    register_task,
    train,
    with_steps,
)

CUSTOM = pathlib.Path(__file__).parent / "custom"
LEAKY, SPIKES, PULSE = (str(CUSTOM / f"{name}.py") for name in ("leaky", "spikes", "pulse"))


@pytest.fixture(scope="module", autouse=True)
def own(registries):
    import_plugins([LEAKY, SPIKES, PULSE])
    import_plugins([LEAKY, SPIKES])  # once per process


@pytest.fixture(scope="module")
def run(own, tmp_path_factory):
    folder = tmp_path_factory.mktemp("custom") / "run"
    train(preset("spikes", "mini", "leaky"), folder)
    return folder


def test_names_are_known():
    assert {"leaky", "neighbors", "average"} < set(model_names())
    assert {"spikes", "pulse"} < set(tasks.names())
    assert preset("spikes", "mini", "leaky").data.batch == 8
    assert preset("pulse", "mini", "leaky").data == DataConfig("pulse")
    with pytest.raises(UserError, match="has no preset 'paper'"):
        preset("spikes", "paper")


def test_a_custom_mixer_is_trained_evaluated_saved_and_loaded(run):
    result = json.loads((run / "result.json").read_text())
    assert (result["model"], result["task"], result["metric"]) == ("leaky", "spikes", "accuracy")
    assert evaluate_run(run)["test_accuracy"] == result["test_accuracy"]
    model = fractal.load(run / "model.safetensors")
    assert type(model.blocks[0].mixer).__name__ == "Leaky"
    task = load_task(preset("spikes", "mini", "leaky"))
    assert evaluate(model, task)["accuracy"] == result["test_accuracy"]
    assert evaluate(model, task, "test", batch=7)["loss"] == pytest.approx(result["test_loss"])


def test_a_custom_mixer_is_loaded_in_a_new_process_by_its_plugin_only(run):
    code = f"""
import fractal
from fractal.cli import main
assert main(["eval", {str(run)!r}]) == 2
try:
    fractal.load({str(run / "model.safetensors")!r})
except ValueError as error:
    assert "leaky.Leaky" in str(error), error
else:
    raise SystemExit("a class that is not registered was loaded")
raise SystemExit(main(["eval", {str(run)!r}, "--plugin", {LEAKY!r}, "--plugin", {SPIKES!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("fractal: --model: there is no model 'leaky'")
    result = json.loads((run / "result.json").read_text())
    assert json.loads(done.stdout)["test_accuracy"] == result["test_accuracy"]


@pytest.mark.parametrize("model", ["neighbors", "average"])
def test_custom_blocks_and_models_are_trained_on_a_custom_regression(model, tmp_path):
    config = with_steps(preset("pulse", "mini", model), 3)
    small = dataclasses.replace(config.model, width=4, depth=2)
    config = dataclasses.replace(config, model=small, log_every=1)
    result = train(config, tmp_path / "run")
    assert (result["kind"], result["metric"]) == ("regression", "mean_squared_error")
    assert result["test_mean_squared_error"] == result["test_loss"]
    lines = [json.loads(x) for x in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    losses = {x["step"]: x["validation_loss"] for x in lines if "validation_loss" in x}
    assert losses[result["best_step"]] == min(losses.values())
    tensors, _ = fractal._files.read_tensors(
        tmp_path / "run/predictions.safetensors", "fractal.predictions", 1
    )
    loaded, task = fractal.load(tmp_path / "run/model.safetensors"), load_task(config)
    inputs = np.stack([task.splits.test.documents(i)[0] for i in range(len(task.splits.test))])
    np.testing.assert_allclose(tensors["logits"], jax.vmap(loaded)(inputs), atol=1e-5)
    np.testing.assert_array_equal(tensors["targets"], task.splits.test.labels)
    error = np.mean((tensors["logits"] - tensors["targets"]) ** 2)
    assert result["test_loss"] == pytest.approx(error)


def test_custom_models_are_compared(tmp_path, capfd):
    arguments = ["compare", "spikes", "--models", "fractal,leaky", "--seeds", "1", "--steps", "2"]
    arguments += ["--plugin", LEAKY, "--plugin", SPIKES, "--model.options.order", "2", "--json"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    rows = json.loads(capfd.readouterr().out)["models"]
    assert [row["model"] for row in rows] == ["fractal", "leaky"]
    assert abs(rows[0]["parameters"] - rows[1]["parameters"]) < 0.1 * rows[0]["parameters"]


class Unknown(eqx.Module):
    """Not registered, but a part of `Holder`."""


class Holder(FractalSSM):
    part: Unknown = eqx.field(default_factory=Unknown)

    def __init__(self, width, *, key):
        super().__init__(width, order=2, key=key)
        self.part = Unknown()


def test_whether_a_model_can_be_saved_is_checked_before_training(tmp_path):
    register_model("holder", Holder)
    with pytest.raises(UserError, match="Unknown"):
        train(preset("spikes", "mini", "holder"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def factory(width, *, key):
    raise TypeError("no such\nthing")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: register_model("fractal", Holder), "name: there is already a model 'fractal'"),
        (lambda: register_model("", Holder), "name must be a letter followed by"),
        (lambda: register_model("a b", Holder), "name must be a letter followed by"),
        (lambda: register_model("../x", Holder), "name must be a letter followed by"),
        (lambda: register_model("x", lambda: 0), "factory: x: a mixer needs the argument 'width'"),
        (lambda: register_model("x", factory, kind="model"), "a model needs the argument 'task'"),
        (lambda: register_model("x", factory, size="order"), "size: the factory of x has no"),
        (lambda: register_model("x", factory, length="long"), "length: the factory of x has no"),
        (lambda: register_model("x", factory, grain=0), "grain must be an integer of at"),
        (
            lambda: register_model("x", factory, max_lr=0.0),
            "max_lr must be a finite number above 0",
        ),
        (
            lambda: register_model("x", factory, max_lr=float("nan")),
            "max_lr must be a finite number above 0",
        ),
        (
            lambda: register_model("x", factory, settings_of=""),
            "settings_of must be the name of a model",
        ),
        (lambda: register_task("new", fetcher=print), "loader must be given with a fetcher"),
        (lambda: register_task("listops", tasks.from_arrays), "there is already a task 'listops'"),
        (lambda: register_task("listops"), "there is already a task 'listops'"),
        (lambda: register_task("new"), "loader must be given: there is no task 'new' yet"),
        (lambda: register_task("a b", tasks.from_arrays), "name must be a letter followed by"),
    ],
)
def test_an_invalid_registration_is_rejected_in_one_line(call, message):
    with pytest.raises(UserError) as error:
        call()
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert "x" not in model_names()


def test_a_factory_that_fails_is_named_in_one_line(tmp_path):
    register_model("failing", factory)
    with pytest.raises(UserError, match="model failing: no such thing"):
        train(preset("spikes", "mini", "failing"), tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named"),
        ("x = ", "SyntaxError: invalid syntax"),
        (
            "from fractal.train import register_model\nregister_model('', int)",
            "line 2: UserError: name must be a letter",
        ),
        ("1 / 0", "line 1: ZeroDivisionError: division by zero"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_named_in_one_line(tmp_path, content, message):
    (tmp_path / "mine.py").write_text(content)
    with pytest.raises(UserError) as error:
        import_plugins([str(tmp_path / "mine.py")])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def defined(text):
    """What a notebook's cell defines when it is run."""
    place = {"__name__": "__main__"}
    exec(text, place)
    return place["made"]


def test_the_same_definition_may_be_registered_again():
    text = "def made(width, *, key, order={}):\n    pass"
    for default in (1, 2):
        register_model("again-1", defined(text.format(default)), size="order")
    assert _models._MODELS["again-1"].parameters()["order"].default == 2
    with pytest.raises(UserError, match="there is already a model 'again-1'"):
        register_model("again-1", factory)
    with pytest.raises(UserError, match="there is already a model"):
        register_model("again-1", lambda width, *, key: None)


def test_an_error_of_a_loader_is_one_line_with_its_cause():
    def load(request):
        return {}["no such\nkey"]

    tasks.register("failing-loader", load)
    with pytest.raises(
        UserError, match=r"loader of task 'failing-loader' failed: KeyError"
    ) as found:
        tasks.load("failing-loader")
    assert "\n" not in str(found.value)
    assert isinstance(found.value.__cause__, KeyError)
