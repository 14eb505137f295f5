import dataclasses
import json

import pytest

from fractal import tasks
from fractal._errors import UserError
from fractal.train import (
    Config,
    DataConfig,
    ModelConfig,
    OptimizerConfig,
    model_names,
    preset,
    presets,
    read_config,
    with_steps,
)


@pytest.mark.parametrize("size", ["mini", "paper"])
@pytest.mark.parametrize("task", presets.TASKS)
def test_every_preset_is_read_back_from_its_json(tmp_path, task, size):
    for model in model_names():
        config = preset(task, size, model)
        assert (config.data.task, config.data.preset, config.model.name) == (task, size, model)
        (tmp_path / "config.json").write_text(config.to_json())
        assert read_config(tmp_path / "config.json") == config


def test_every_task_has_presets():
    assert set(presets.TASKS) == set(tasks.names())


@pytest.mark.parametrize("task", presets.TASKS)
def test_a_preset_documents_its_command_and_what_to_expect(task):
    text = getattr(presets, task).__doc__
    assert f"fractal train {task}" in text
    assert "accuracy" in text
    assert "min" in text


def test_s5_has_its_published_recipe():
    config = preset("listops", "paper", "s5")
    assert (config.model.width, config.model.depth, config.data.batch) == (128, 8, 50)
    assert config.model.options["order"] == 16
    assert config.steps == 40 * 96_000 // 50
    assert (config.optimizer.lr, config.optimizer.ssm_lr) == (3e-3, 1e-3)


@pytest.mark.parametrize("model", ["transformer", "performer"])
def test_transformers_have_the_recipe_of_the_long_range_arena(model):
    config = preset("listops", "paper", model)
    assert (config.model.name, config.model.width, config.data.batch) == (model, 512, 32)


def test_a_run_with_other_steps_keeps_its_proportions():
    config = Config(DataConfig("listops"), optimizer=OptimizerConfig(warmup=100), steps=1000)
    short = with_steps(config, 50)
    assert (short.steps, short.optimizer.warmup) == (50, 5)
    assert short.evaluate_every == 12
    assert with_steps(config, 1).optimizer.warmup == 0


DATA = DataConfig("listops")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ModelConfig(width=3.5), "model.width: should be a valid integer, got 3.5"),
        (lambda: ModelConfig(width="8"), "model.width: should be a valid integer, got '8'"),
        (lambda: ModelConfig(width=True), "model.width: should be a valid integer, got True"),
        (lambda: ModelConfig(width=0), "model.width: should be greater than or equal to 1, got 0"),
        (lambda: ModelConfig(gate="glu"), "model.gate: should be 'silu', 'half_glu1', 'half_glu2'"),
        (lambda: ModelConfig(norm="group"), "model.norm: should be 'layer' or 'batch'"),
        (lambda: ModelConfig(dropout=1.0), "model.dropout: should be less than 1, got 1.0"),
        (lambda: ModelConfig(dropout=float("nan")), "model.dropout: should be a finite number"),
        (lambda: ModelConfig(""), "model.name: should have at least 1 character, got ''"),
        (lambda: ModelConfig(options=None), "model.options: should be a valid dictionary"),
        (lambda: ModelConfig(options={"order": None}), "model.options.order: must be a number"),
        (lambda: ModelConfig(widht=3), "model.widht: there is no such setting: did you mean width"),
        (lambda: ModelConfig("s5", 8), "Unexpected positional argument, got 8"),
        (lambda: OptimizerConfig(0), "optimizer.lr: should be greater than 0, got 0"),
        (lambda: OptimizerConfig(ema=1.0), "optimizer.ema: should be less than 1"),
        (lambda: OptimizerConfig(clip=-1), "optimizer.clip: should be greater than or equal to 0"),
        (lambda: DataConfig(), "data.task: is required"),
        (lambda: DataConfig(""), "data.task: should have at least 1 character"),
        (lambda: DataConfig("listops", preset="tiny"), "data.preset: should be 'mini' or 'paper'"),
        (lambda: DataConfig("listops", folder=""), "data.folder: should have at least 1 character"),
        (lambda: DataConfig("listops", buckets=99), "data.buckets: should be less than or equal"),
        (lambda: Config("listops"), "data: should be an instance of DataConfig, got 'listops'"),
        (lambda: Config(DATA, steps=0), "steps: should be greater than or equal to 1, got 0"),
        (lambda: Config(DATA, steps=3.5), "steps: should be a valid integer, got 3.5"),
        (lambda: Config(DATA, steps=10**12), "steps: should be less than or equal to"),
        (lambda: Config(DATA, steps=50), "optimizer.warmup: must be less than steps = 50, got 100"),
        (lambda: Config(DATA, seed=-1), "seed: should be greater than or equal to 0"),
        (lambda: Config(DATA, seed=1.5), "seed: should be a valid integer, got 1.5"),
        (lambda: Config(DATA, model=None), "model: should be an instance of ModelConfig"),
        (lambda: with_steps(Config(DATA), 0), "steps: should be greater than or equal to 1"),
        (lambda: preset("listpos"), "did you mean listops"),
        (lambda: preset("listops", "mini", "transfomer"), "did you mean transformer"),
        (lambda: preset("listops", "tiny"), "size: must be mini or paper, got 'tiny'"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(make, message):
    with pytest.raises(UserError) as error:
        make()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_may_be_a_path(tmp_path):
    assert DataConfig("listops", folder=tmp_path).folder == str(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree["model"].update(widht=3), "model.widht: there is no such setting: did"),
        (
            lambda tree: tree.update(colour=3),
            "colour: there is no such setting: choose one of data",
        ),
        (lambda tree: tree.pop("data"), "data: is required"),
        (lambda tree: tree.update(model=3), "model: should be an object, got 3"),
        (lambda tree: tree.update(model=[]), "model: should be an object, got []"),
        (lambda tree: tree.update(steps=3.5), "steps: should be a valid integer, got 3.5"),
        (lambda tree: tree.update(steps="30"), "steps: should be a valid integer, got '30'"),
        (lambda tree: tree.update(steps=None), "steps: should be a valid integer, got None"),
        (lambda tree: tree.update(seed=1.5), "seed: should be a valid integer, got 1.5"),
        (lambda tree: tree.update(seed=True), "seed: should be a valid integer, got True"),
        (lambda tree: tree["model"].update(options=None), "model.options: should be an object"),
        (lambda tree: tree["model"]["options"].update(order=[[]]), "model.options.order: must be"),
        (lambda tree: tree["data"].update(preset="tiny"), "data.preset: should be 'mini' or"),
        (lambda tree: tree["data"].update(task=""), "data.task: should have at least 1 character"),
        (
            lambda tree: tree["optimizer"].update(lr="fast"),
            "optimizer.lr: should be a valid number",
        ),
        (lambda tree: tree["optimizer"].update(warmup=10**6), "optimizer.warmup: must be less"),
    ],
)
def test_a_wrong_value_in_a_file_is_named_with_its_path(tmp_path, change, message):
    tree = dataclasses.asdict(preset("listops"))
    change(tree)
    (tmp_path / "config.json").write_text(json.dumps(tree))
    with pytest.raises(UserError) as error:
        read_config(tmp_path / "config.json")
    assert str(error.value).startswith(f"{tmp_path / 'config.json'}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[]", "should be an object, got []"),
        (b"null", "should be an object, got None"),
        (b"{} {}", "is not JSON"),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        (b"\xff\xfe{\x00}\x00", "is not JSON"),
        (b'{"data": "\xff"}', "is not JSON"),
        (b"[" * 100_000, "is not JSON: recursion limit exceeded"),
        (b'{"data":' * 5_000, "is not JSON: recursion limit exceeded"),
        (b" " * 2_000_000, "is too large"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused_in_one_line(tmp_path, content, message):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(UserError) as error:
        read_config(tmp_path / "config.json")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        read_config(tmp_path / "none.json")
    with pytest.raises(UserError, match="cannot read"):
        read_config(tmp_path)
