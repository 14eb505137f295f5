"""The train step with parameters and leaves of other kinds than floating-point arrays."""

import dataclasses
import itertools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal import tasks
from fractal.tasks import Batches
from fractal.train import (
    Config,
    DataConfig,
    ModelConfig,
    OptimizerConfig,
    evaluate_run,
    initial_state,
    make_train_step,
    parameter_count,
    register_model,
    register_task,
    train,
)
from fractal.train._step import step_number


class Modulus(eqx.Module):
    """|z|² of a complex parameter, whatever the input is."""

    z: jax.Array

    def __init__(self, task, *, width, depth, key):
        self.z = jnp.asarray([1.0 + 2.0j], jnp.complex64)

    def __call__(self, x, *, lengths=None, key=None):
        return jnp.abs(self.z) ** 2


class Stock(eqx.Module):
    """Layers of Equinox with fields that are no arrays."""

    first: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout
    last: eqx.nn.Linear
    count: jax.Array  # of integers: carried along, not trained
    rate: float = 0.5

    def __init__(self, task, *, width, depth, key):
        first, last = jax.random.split(key)
        self.first = eqx.nn.Linear(task.inputs, width, key=first)
        self.norm, self.dropout = eqx.nn.LayerNorm(width), eqx.nn.Dropout(0.25)
        self.last = eqx.nn.Linear(width, task.outputs, key=last)
        self.count = jnp.asarray(3, jnp.int32)

    def __call__(self, x, *, lengths=None, key=None):
        hidden = jnp.tanh(self.norm(self.first(x.mean(axis=0))))
        hidden = self.dropout(hidden, key=key, inference=key is None)
        return self.last(hidden) * self.rate * self.count.astype(hidden.dtype)


def load(request):
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(60, 4, 1))
    return tasks.from_arrays(list(signals), np.zeros((60, 1)), name="nothing")


@pytest.fixture(scope="module", autouse=True)
def registered(registries):
    register_model("modulus", Modulus, kind="model")
    register_model("stock", Stock, kind="model")
    register_task("nothing", load)


def config(model, **optimizer):
    return Config(
        DataConfig("nothing", batch=8),
        model=ModelConfig(model, width=4, depth=1),
        optimizer=OptimizerConfig(lr=0.05, weight_decay=0.0, warmup=1, **optimizer),
        steps=30,
        evaluate_every=10,
        checkpoint_every=10,
        log_every=5,
    )


def test_a_complex_parameter_descends():
    """The loss is |z|⁴. Without conjugation the imaginary part would grow."""
    settings, task = config("modulus"), load(None)
    state, step = initial_state(settings, task), make_train_step(settings, task)
    batch = next(Batches(task, task.splits.train, 8, training=True, seed=0).stream(0))
    found = [state.model.z[0].item()]
    for number in range(1, 11):
        state = step(state, batch, step_number(number))
        found.append(state.model.z[0].item())
    assert all(abs(later) < abs(former) for former, later in itertools.pairwise(found))
    assert found[-1].imag < 2.0 > found[-1].real


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_stock_layers_with_other_fields_are_trained_and_resumed(ema, tmp_path):
    settings, task = config("stock", ema=ema), load(None)
    state = initial_state(settings, task)
    assert parameter_count(state.model) == 2 * 4 + 2 * 4 + 5
    step = make_train_step(settings, task)
    batch = next(Batches(task, task.splits.train, 8, training=True, seed=0).stream(0))
    before = np.asarray(state.model.first.weight)
    state = step(state, batch, step_number(1))
    assert state.model.dropout.p == 0.25
    assert state.model.rate == 0.5
    assert int(state.model.count) == 3
    assert not np.array_equal(state.model.first.weight, before)
    result = train(settings, tmp_path / "run")
    assert evaluate_run(tmp_path / "run")["test_loss"] == result["test_loss"]
    (tmp_path / "run" / "result.json").unlink()
    assert train(settings, tmp_path / "run", resume=True)["test_loss"] == result["test_loss"]
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    losses = [line["loss"] for line in map(json.loads, lines) if "loss" in line]
    assert losses[-1] < losses[0]


def test_a_model_without_parameters_is_rejected():
    class Empty(eqx.Module):
        def __init__(self, task, *, width, depth, key):
            pass

    register_model("empty", Empty, kind="model")
    with pytest.raises(ValueError, match="model empty has no parameters to train"):
        initial_state(dataclasses.replace(config("empty")), load(None))
