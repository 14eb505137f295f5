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
    stages = set(tasks.pathfinder.STAGES)  # of a curriculum
    assert set(presets.TASKS) == set(tasks.names()) - stages


@pytest.mark.parametrize("task", presets.TASKS)
def test_a_preset_documents_its_command_and_what_to_expect(task):
    text = getattr(presets, task).__doc__
    assert f"fractal train {task}" in text
    assert "accuracy" in text
    assert "min" in text


def test_s5_has_its_published_settings():
    config = preset("listops", "paper", "s5")
    assert (config.model.width, config.model.depth, config.data.batch) == (128, 8, 50)
    assert config.model.options["order"] == 16
    assert config.steps == 40 * 96_000 // 50
    assert (config.optimizer.lr, config.optimizer.ssm_lr) == (3e-3, 1e-3)


@pytest.mark.parametrize("model", ["transformer", "performer"])
def test_transformers_have_the_settings_of_the_long_range_arena(model):
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
        (lambda: ModelConfig(width=3.5), "model.width must be a valid integer, got 3.5"),
        (lambda: ModelConfig(width="8"), "model.width must be a valid integer, got '8'"),
        (lambda: ModelConfig(width=True), "model.width must be a valid integer, got True"),
        (lambda: ModelConfig(width=0), "model.width must be greater than or equal to 1, got 0"),
        (lambda: ModelConfig(gate="glu"), "model.gate must be 'silu', 'half_glu1', 'half_glu2'"),
        (lambda: ModelConfig(norm="group"), "model.norm must be 'layer' or 'batch'"),
        (lambda: ModelConfig(dropout=1.0), "model.dropout must be less than 1, got 1.0"),
        (lambda: ModelConfig(dropout=float("nan")), "model.dropout must be a finite number"),
        (lambda: ModelConfig(""), "model.name must have at least 1 character, got ''"),
        (lambda: ModelConfig(options=None), "model.options must be a valid dictionary"),
        (lambda: ModelConfig(options={"order": None}), "model.options.order must be a number"),
        (lambda: ModelConfig(widht=3), "model.widht: there is no such setting: did you mean width"),
        (lambda: ModelConfig("s5", 8), "Unexpected positional argument, got 8"),
        (lambda: OptimizerConfig(0), "optimizer.lr must be greater than 0, got 0"),
        (lambda: OptimizerConfig(ema=1.0), "optimizer.ema must be less than 1"),
        (lambda: OptimizerConfig(clip=-1), "optimizer.clip must be greater than or equal to 0"),
        (lambda: DataConfig(), "data.task: is required"),
        (lambda: DataConfig(""), "data.task must have at least 1 character"),
        (
            lambda: DataConfig("listops", preset="tiny"),
            "data.preset must be 'mini', 'laptop' or 'paper'",
        ),
        (lambda: DataConfig("listops", folder=""), "data.folder must have at least 1 character"),
        (lambda: DataConfig("listops", buckets=99), "data.buckets must be less than or equal"),
        (lambda: Config("listops"), "data must be an instance of DataConfig, got 'listops'"),
        (lambda: Config(DATA, steps=0), "steps must be greater than or equal to 1, got 0"),
        (lambda: Config(DATA, steps=3.5), "steps must be a valid integer, got 3.5"),
        (lambda: Config(DATA, steps=10**12), "steps must be less than or equal to"),
        (lambda: Config(DATA, steps=50), "optimizer.warmup must be less than steps = 50, got 100"),
        (lambda: Config(DATA, seed=-1), "seed must be greater than or equal to 0"),
        (lambda: Config(DATA, seed=1.5), "seed must be a valid integer, got 1.5"),
        (lambda: Config(DATA, model=None), "model must be an instance of ModelConfig"),
        (lambda: with_steps(Config(DATA), 0), "steps must be greater than or equal to 1"),
        (lambda: preset("listpos"), "did you mean listops"),
        (lambda: preset("listops", "mini", "transfomer"), "did you mean transformer"),
        (lambda: preset("listops", "tiny"), "preset must be mini, laptop or paper, got 'tiny'"),
    ],
)
def test_an_invalid_setting_is_named_in_one_line(make, message):
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
            lambda tree: tree.update(hue=3),
            "hue: there is no such setting: choose one of data",
        ),
        (lambda tree: tree.pop("data"), "data: is required"),
        (lambda tree: tree.update(model=3), "model must be an object, got 3"),
        (lambda tree: tree.update(model=[]), "model must be an object, got []"),
        (lambda tree: tree.update(steps=3.5), "steps must be a valid integer, got 3.5"),
        (lambda tree: tree.update(steps="30"), "steps must be a valid integer, got '30'"),
        (lambda tree: tree.update(steps=None), "steps must be a valid integer, got None"),
        (lambda tree: tree.update(seed=1.5), "seed must be a valid integer, got 1.5"),
        (lambda tree: tree.update(seed=True), "seed must be a valid integer, got True"),
        (lambda tree: tree["model"].update(options=None), "model.options must be an object"),
        (lambda tree: tree["model"]["options"].update(order=[[]]), "model.options.order must be"),
        (
            lambda tree: tree["data"].update(preset="tiny"),
            "data.preset must be 'mini', 'laptop' or",
        ),
        (lambda tree: tree["data"].update(task=""), "data.task must have at least 1 character"),
        (
            lambda tree: tree["optimizer"].update(lr="fast"),
            "optimizer.lr must be a valid number",
        ),
        (lambda tree: tree["optimizer"].update(warmup=10**6), "optimizer.warmup must be less"),
    ],
)
def test_an_invalid_value_in_a_file_is_named_with_its_path(tmp_path, change, message):
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
        (b"[]", "must be an object, got []"),
        (b"null", "must be an object, got None"),
        (b"{} {}", "is not JSON"),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        (b"\xff\xfe{\x00}\x00", "is not JSON"),
        (b'{"data": "\xff"}', "is not JSON"),
        (b"[" * 100_000, "is not JSON: recursion limit exceeded"),
        (b'{"data":' * 5_000, "is not JSON: recursion limit exceeded"),
        (b" " * 2_000_000, "is too large"),
    ],
)
def test_a_file_without_settings_is_rejected_in_one_line(tmp_path, content, message):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(UserError) as error:
        read_config(tmp_path / "config.json")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_a_file_that_cannot_be_read_is_rejected(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        read_config(tmp_path / "none.json")
    with pytest.raises(UserError, match="cannot read"):
        read_config(tmp_path)
