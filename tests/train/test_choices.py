"""Settings of a model that it does not have are rejected, never ignored."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest

from fractal import tasks
from fractal._errors import UserError
from fractal.nn import FractalSSM
from fractal.train import (
    ModelConfig,
    build,
    config_parameter_count,
    model_names,
    preset,
    register_model,
)

TASK = tasks.from_arrays(list(np.zeros((30, 8, 2))), [0, 1] * 15)


class Plain(eqx.Module):
    """A whole model that has `pooling` and `dropout`, with defaults of its own."""

    weight: jax.Array
    pooling: str = eqx.field(static=True)
    dropout: float = eqx.field(static=True)

    def __init__(self, task, *, width, depth, pooling="last", dropout, key):
        self.weight = jax.random.normal(key, (width,))
        self.pooling, self.dropout = pooling, dropout


def causal(width, *, key):
    """A mixer that has no other direction."""
    return FractalSSM(width, order=2, key=key)


def open_ended(width, *, key, **options):
    return FractalSSM(width, key=key, **options)


@pytest.fixture(scope="module", autouse=True)
def registered(registries):
    register_model("plain", Plain, kind="model")
    register_model("causal", causal)
    register_model("open-ended", open_ended)


def made(name, **settings):
    return build(ModelConfig(name, width=8, depth=1, **settings), TASK, jax.random.key(0))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("plain", {"bidirectional": True}),
        ("plain", {"dtype": "float32"}),
        ("plain", {"gate": "silu"}),
        ("causal", {"bidirectional": False}),
        ("transformer", {"norm": "layer"}),
    ],
)
def test_a_setting_that_a_model_does_not_have_is_rejected(name, settings):
    (setting,) = settings
    with pytest.raises(UserError, match=f"^model.{setting}: the model {name} has no choice of"):
        made(name, **settings)


def test_a_whole_model_is_given_what_it_has():
    assert (made("plain").pooling, made("plain").dropout) == ("last", 0.0)
    changed = made("plain", pooling="mean", dropout=0.25)
    assert (changed.pooling, changed.dropout) == ("mean", 0.25)


def test_a_factory_of_any_arguments_is_given_what_is_set():
    assert not made("open-ended").blocks[0].mixer.bidirectional
    assert made("open-ended", bidirectional=True, dropout=0.1).blocks[0].mixer.bidirectional


@pytest.mark.parametrize("name", ["fractal", "s5", "s4", "lmu", "transformer", "performer"])
def test_defaults_are_those_of_explicit_settings(name):
    explicit = {"dropout": 0.0, "pooling": "mean", "bidirectional": True, "dtype": "float32"}
    one, other = made(name), made(name, **explicit)
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert jax.tree.all(jax.tree.map(np.array_equal, one, other))


def test_presets_fit_all_models():
    for name in model_names():
        for task in ("listops", "image"):
            settings = preset(task, "paper", name).model
            small = dataclasses.replace(settings, width=16, depth=1)
            if name in ("plain", "causal", "open-ended"):
                small = dataclasses.replace(small, options={})
                assert config_parameter_count(small, TASK) > 0
