"""The presets `laptop`: the published length of the data, and one budget for FRACTAL and S5."""

import dataclasses

import jax
import numpy as np
import pytest

from fractal import tasks
from fractal.train import build, config_parameter_count, preset

SHAPES = {  # published length, inputs, outputs
    "listops": (2048, 20, 10),
    "text": (4096, 135, 2),
    "retrieval": (4000, 30, 2),
    "image": (1024, 1, 10),
    "pathfinder": (1024, 1, 2),
    "smnist": (784, 1, 10),
    "psmnist": (784, 1, 10),
}


def task_like(name):
    """A task of the published shapes with hardly any data."""
    length, inputs, outputs = SHAPES[name]
    tokens = inputs > 1
    one = np.zeros(2, int) if tokens else np.zeros((2, 1))
    pair = name == "retrieval"
    return tasks.from_arrays(
        [(one, one) if pair else one] * 10,
        np.zeros(10, int),
        name=name,
        kind="retrieval" if pair else "classification",
        length=length,
        inputs=inputs if tokens else None,
        outputs=outputs,
    )


@pytest.mark.parametrize("name", SHAPES)
def test_fractal_and_s5_have_the_same_budget(name):
    fractal, s5 = preset(name, "laptop"), preset(name, "laptop", "s5")
    assert (fractal.model.name, s5.model.name) == ("fractal", "s5")
    assert dataclasses.replace(s5, model=fractal.model) == fractal
    task = task_like(name)
    ours, theirs = (config_parameter_count(one.model, task) for one in (fractal, s5))
    assert theirs == pytest.approx(ours, rel=0.07)
    assert fractal.data.preset == "laptop"


UNIFORM = [name for name in SHAPES if "clock" not in preset(name, "laptop").model.options]


@pytest.mark.parametrize("name", UNIFORM)
def test_fractal_and_s5_have_the_same_range_of_step_sizes(name):
    task = task_like(name)
    for model in ("fractal", "s5"):
        config = preset(name, "laptop", model).model
        options = {k: v for k, v in config.options.items() if k != "period"}  # which rounds them
        built = build(dataclasses.replace(config, options=options), task, jax.random.key(0))
        name_of = {"fractal": "log_dt", "s5": "log_step"}[model]
        steps = np.exp([getattr(block.mixer, name_of) for block in built.blocks])
        assert 2 / task.length <= steps.min() < 4 / task.length
        assert 0.25 < steps.max() <= 0.5 + 1e-6


@pytest.mark.parametrize("name", SHAPES)
def test_sequences_of_different_lengths_are_in_buckets(name):
    assert (preset(name, "laptop").data.buckets > 1) == (name in ("listops", "text", "retrieval"))


@pytest.mark.parametrize("name", ["pathx", "speech"])
def test_a_task_without_the_preset_says_so(name):
    with pytest.raises(ValueError, match=f"task '{name}' has no preset 'laptop'"):
        preset(name, "laptop")
