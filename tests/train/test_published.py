"""The preset `paper` with the model `s5` is the published S5."""

import dataclasses

import jax
import numpy as np
import pytest

from fractal import tasks
from fractal._errors import UserError
from fractal.nn import OneHotLinear
from fractal.train import build, config_parameter_count, preset

TOKENS = tasks.from_arrays([np.arange(8)] * 30, [0, 1] * 15)
PIXELS = tasks.from_arrays(list(np.zeros((30, 8, 1))), [0, 1] * 15)
# Inputs and classes of the published models, and their parameter counts.
PUBLISHED = {
    "listops": (TOKENS, 20, 10, 188_490),
    "text": (TOKENS, 135, 2, 1_321_154),
    "retrieval": (TOKENS, 98, 2, 772_098),
    "image": (PIXELS, 1, 10, 5_133_706),
    "pathfinder": (PIXELS, 1, 2, 1_113_602),
    "pathx": (PIXELS, 1, 2, 694_018),
}


def published(name):
    """A task of the published shape, and the published settings."""
    base, inputs, outputs, _ = PUBLISHED[name]
    kind = "retrieval" if name == "retrieval" else "classification"
    task = dataclasses.replace(base, kind=kind, inputs=inputs, outputs=outputs)
    return task, preset(name, "paper", "s5")


@pytest.mark.parametrize("name", PUBLISHED)
def test_s5_has_the_published_parameter_count(name):
    task, config = published(name)
    assert config_parameter_count(config.model, task) == PUBLISHED[name][-1]


@pytest.mark.parametrize("name", ["retrieval", "pathfinder"])
def test_dense_layers_are_initialized_as_in_flax(name):
    """Truncated normal weights of variance 1/inputs, and biases 0."""
    task, config = published(name)
    model = build(dataclasses.replace(config.model, depth=1), task, jax.random.key(0))
    layers = {"gate": model.blocks[0].inner}
    if name == "retrieval":
        layers |= {"encoder": model.encoder, "hidden": model.head.hidden, "out": model.head.out}
    else:
        layers |= {"encoder": model.encoder, "head": model.head}
    for where, layer in layers.items():
        inputs = layer.weight.shape[0 if isinstance(layer, OneHotLinear) else 1]
        weight = np.asarray(layer.weight) * np.sqrt(inputs)
        error = 1 / np.sqrt(2 * weight.size)
        assert abs(weight.std() - 1) < 5 * error, where
        assert np.abs(weight).max() < 2 / 0.8796  # of variance 1 after truncation at 2
        np.testing.assert_array_equal(layer.bias, 0)


@pytest.mark.parametrize("name", PUBLISHED)
def test_encoder_momentum_and_masking_are_the_published_ones(name):
    model = published(name)[1].model
    is_text = PUBLISHED[name][0] is TOKENS
    assert model.encoder == ("one-hot" if is_text else None)
    assert model.masking == ("pooling" if is_text else None)
    task, _ = published(name)
    built = build(dataclasses.replace(model, width=16, depth=1), task, jax.random.key(0))
    assert built.blocks[0].norm.momentum == (0.9 if name in ("pathfinder", "pathx") else 0.95)


def test_an_epoch_of_text_has_500_steps_if_nothing_is_held_out():
    held_out, test = (
        preset("text", "paper", "s5", validation=validation) for validation in ("held-out", "test")
    )
    assert (held_out.evaluate_every, test.evaluate_every) == (450, 500)
    assert (held_out.steps, test.steps) == (35 * 450, 35 * 500)
    assert (held_out.data.validation, test.data.validation) == ("held-out", "test")
    assert held_out.model == test.model
    # Other models, and settings that name no validation set, follow.
    assert preset("text", "paper", "fractal", validation="test").steps == test.steps
    transformer = preset("text", "paper", "transformer", validation="test")
    assert (transformer.steps, transformer.data.validation) == (20_000, "test")
    assert preset("text", validation="test").data.validation == "test"
    assert preset("text", "paper", "s5") == held_out


def test_an_invalid_validation_set_is_named():
    with pytest.raises(UserError, match=r"^validation must be held-out or test, got 'none'"):
        preset("text", "paper", validation="none")


def test_models_other_than_s5_keep_their_own_encoder_and_initialization():
    model = preset("listops", "paper", "fractal").model
    assert (model.encoder, model.dense_init, model.masking) == (None, None, None)
    assert preset("pathfinder", "paper", "fractal").model.norm_momentum == 0.9
    assert preset("pathfinder", "paper", "transformer").model.norm_momentum is None
