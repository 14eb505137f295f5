import dataclasses
import json

import pytest

from fractal._errors import UserError
from fractal.train import Config, Data, Model, Optimizer
from fractal.train._config import from_json, shortened
from fractal.train._models import KINDS
from fractal.train.presets import TASKS, preset


@pytest.mark.parametrize("size", ["mini", "paper"])
@pytest.mark.parametrize("task", TASKS)
def test_every_preset_comes_back_from_its_json(tmp_path, task, size):
    for model in KINDS:
        config = preset(task, size, model)
        assert (config.data.task, config.data.preset, config.model.name) == (task, size, model)
        (tmp_path / "config.json").write_text(config.to_json())
        assert from_json(tmp_path / "config.json") == config


@pytest.mark.parametrize("task", TASKS)
def test_a_preset_says_its_command_and_what_to_expect(task):
    text = TASKS[task].__doc__
    assert f"fractal train {task}" in text
    assert "accuracy" in text
    assert "min" in text


def test_s5_has_its_published_recipe():
    config = preset("listops", "paper", "s5")
    assert (config.model.width, config.model.depth, config.data.batch) == (128, 8, 50)
    assert config.model.options["order"] == 16
    assert config.steps == 40 * 96_000 // 50
    assert (config.optimizer.lr, config.optimizer.ssm_lr) == (3e-3, 1e-3)


def test_a_shortened_run_keeps_its_proportions():
    config = Config(Data("listops"), optimizer=Optimizer(warmup=100), steps=1000)
    short = shortened(config, 50)
    assert (short.steps, short.optimizer.warmup) == (50, 5)
    assert short.evaluate_every == 12
    assert shortened(config, 1).optimizer.warmup == 0


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Model(gate="glu"), "model.gate must be one of"),
        (lambda: Model(norm="group"), "model.norm must be one of"),
        (lambda: Model(dropout=1.0), "dropout"),
        (lambda: Model(width=0), "positive"),
        (lambda: Optimizer(lr=0), "positive"),
        (lambda: Optimizer(ema=1.0), "ema"),
        (lambda: Optimizer(clip=-1), "negative"),
        (lambda: Config(Data("listops"), steps=0), "steps must be positive"),
        (lambda: Config(Data("listops"), steps=50), "warmup must be less"),
        (lambda: Config(Data("listops"), seed=-1), "seed"),
        (lambda: preset("listpos", "mini", "s5"), "did you mean listops"),
        (lambda: preset("listops", "mini", "transfomer"), "did you mean transformer"),
    ],
)
def test_impossible_settings_are_named(make, complaint):
    with pytest.raises(UserError, match=complaint):
        make()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda tree: tree["model"].update(widht=3), "did you mean width"),
        (lambda tree: tree.update(speed=3), "no setting 'speed'"),
        (lambda tree: tree.pop("data"), "no settings of ours"),
        (lambda tree: tree.update(model=3), "no settings of ours"),
    ],
)
def test_a_strange_file_is_refused(tmp_path, change, complaint):
    tree = dataclasses.asdict(preset("listops", "mini", "fractal"))
    change(tree)
    (tmp_path / "config.json").write_text(json.dumps(tree))
    with pytest.raises(UserError, match=complaint):
        from_json(tmp_path / "config.json")


def test_a_file_that_is_missing_or_no_json_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        from_json(tmp_path / "none.json")
    (tmp_path / "half.json").write_text("{")
    with pytest.raises(UserError, match="is no JSON"):
        from_json(tmp_path / "half.json")
