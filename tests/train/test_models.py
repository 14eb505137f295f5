import jax
import numpy as np
import pytest

from fractal._bounds import available_bytes
from fractal._errors import UserError
from fractal.train import (
    ModelConfig,
    build,
    config_parameter_count,
    load_task,
    match_parameters,
    model_names,
    parameter_count,
)
from fractal.train import _bounds as bounds


@pytest.mark.parametrize("name", model_names())
def test_every_model_can_match_a_parameter_count(tiny, name):
    task = load_task(tiny)
    for target in (43_000, 80_000):
        model = match_parameters(ModelConfig(name, width=64, depth=2), task, target)
        assert abs(config_parameter_count(model, task) - target) <= 0.1 * target


def test_a_model_with_learned_alphas_is_counted_without_being_built(tiny):
    task = load_task(tiny)
    model = ModelConfig("fractal", width=8, depth=1, options={"learn_alpha": True})
    built = build(model, task, jax.random.key(0))
    assert config_parameter_count(model, task) == parameter_count(built)


def test_buffers_are_not_counted(tiny):
    task = load_task(tiny)
    layer, batch = (
        build(
            ModelConfig("fractal", width=8, depth=1, norm=norm, options={"order": 2}),
            task,
            jax.random.key(0),
        )
        for norm in ("layer", "batch")
    )
    assert parameter_count(layer) == parameter_count(batch)
    assert parameter_count(layer) == sum(leaf.size for leaf in jax.tree.leaves(layer))


@pytest.mark.parametrize("name", model_names())
def test_the_memory_bound_is_below_what_the_parameters_need(tiny, name):
    """A lower bound refuses nothing that fits."""
    task = load_task(tiny)
    for width, depth in ((16, 1), (64, 3)):
        model = ModelConfig(name, width=width, depth=depth)
        assert bounds._least_parameters(model) <= config_parameter_count(model, task)


def test_memory_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr("fractal._bounds.available_bytes", lambda: 2e9)
    bounds.check_model_memory(ModelConfig(width=1024))
    with pytest.raises(UserError, match=r"at least [\d,.]+ GB needed, 2\.0 GB available"):
        bounds.check_model_memory(ModelConfig(width=100_000))
    with pytest.raises(UserError, match=r"order 1000000: at least 48,000\.0 GB needed"):
        bounds.check_model_memory(ModelConfig(options={"order": 1_000_000}))


def test_the_available_memory_is_that_of_the_machine():
    assert 1e8 < available_bytes() < 1e14 or np.isinf(available_bytes())
