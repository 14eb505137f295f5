import dataclasses
import json
import os
import shutil
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import fractal
from fractal import tasks
from fractal.tasks import Batches
from fractal.train import Interrupted, ModelConfig, initial_state, load_task, train
from fractal.train import _pretraining as pretraining
from fractal.train._models import build_per_step
from fractal.train._pretraining import masked_objective, with_features


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture
def config(tiny):
    return dataclasses.replace(
        tiny, pretrain=12, steps=4, evaluate_every=4, checkpoint_every=4, log_every=2
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def whole(config, runs):
    """A pretrained run, made once."""
    if not (runs / "whole").exists():
        train(config, runs / "whole")
    return runs / "whole"


def test_pretraining_learns_to_fill_in_hidden_tokens(whole):
    losses = [line["loss"] for line in lines(whole / "pretraining")]
    assert len(losses) == 6
    assert losses[-1] < losses[0]


def test_the_supervised_run_starts_from_the_pretrained_features(whole, config):
    state = initial_state(config, load_task(config))
    found = fractal.load(whole / "model.safetensors")
    assert jax.tree.structure(eqx.filter(found, eqx.is_array)) == jax.tree.structure(
        eqx.filter(state.model, eqx.is_array)
    )
    moved = np.abs(np.asarray(found.encoder.weight) - np.asarray(state.model.encoder.weight))
    # Four steps of at most 0.01 are not enough to get there without the twelve before.
    assert moved.max() > 5 * config.optimizer.lr


def test_resuming_reproduces_pretraining_and_the_run_exactly(whole, config, tmp_path, monkeypatch):
    sent, make = [], pretraining.make_train_step

    def interrupting(*args, **options):
        step = make(*args, **options)

        def stepped(state, batch, number):
            if int(number) == 6 and not sent:
                sent.append(True)
                os.kill(os.getpid(), signal.SIGTERM)
            return step(state, batch, number)

        return stepped

    monkeypatch.setattr(pretraining, "make_train_step", interrupting)
    with pytest.raises(Interrupted, match="after step 6"):
        train(config, tmp_path / "run")
    train(config, tmp_path / "run", resume=True)
    for folder in ("", "pretraining"):
        assert lines(tmp_path / "run" / folder) == lines(whole / folder)
    cut = tmp_path / "cut"  # after pretraining, before the first checkpoint of the run
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints")
    train(config, cut, resume=True)
    assert lines(cut) == lines(whole)


@pytest.mark.parametrize("kind", ["tokens", "values", "pairs"])
def test_the_loss_is_that_of_hidden_steps_by_a_plain_loop(kind, monkeypatch):
    rng = np.random.default_rng(0)
    made = {
        "tokens": [rng.integers(1, 5, size=n) for n in (3, 6, 4, 6, 5, 6)],
        "values": [rng.normal(size=(n, 2)) for n in (3, 6, 4, 6, 5, 6)],
        "pairs": [[rng.integers(1, 5, size=n) for n in (3, 6)] for _ in range(6)],
    }[kind]
    task = tasks.from_arrays(
        made,
        np.arange(6) % 2,
        kind="retrieval" if kind == "pairs" else None,
        validation=0.2,
        test=0.2,
    )
    model = build_per_step(
        ModelConfig(width=4, depth=1, options={"order": 2}), task, jax.random.key(0)
    )
    batch = Batches(task, task.splits.train, 3, training=True)[0]
    monkeypatch.setattr(pretraining, "_HIDDEN", 1.0)  # all steps, so that nothing is random
    trained, rest = eqx.partition(model, eqx.is_inexact_array)
    loss, _ = masked_objective(task)(trained, rest, batch, jax.random.key(1))
    losses = []
    sequences = batch.inputs.reshape(-1, *batch.inputs.shape[batch.lengths.ndim :])
    values = task.splits.train.sequences.values
    value = 0 if task.tokens else values.min() - values.std()
    for x, length in zip(sequences, batch.lengths.reshape(-1), strict=True):
        outputs = model(jnp.full_like(x[:length], value))
        if task.tokens:
            found = optax.softmax_cross_entropy_with_integer_labels(outputs, x[:length])
        else:
            found = jnp.mean((outputs - x[:length]) ** 2, axis=-1)
        losses += found.tolist()
    assert float(loss) == pytest.approx(np.mean(losses), rel=1e-4)


def test_only_the_head_is_kept(config):
    task = load_task(config)
    one = initial_state(config, task).model
    two = build_per_step(config.model, task, jax.random.key(5))
    joined = with_features(one, two)
    np.testing.assert_array_equal(joined.head.weight, one.head.weight)
    np.testing.assert_array_equal(joined.encoder.weight, two.encoder.weight)
    assert joined.task == one.task
    assert joined.pooling == one.pooling
