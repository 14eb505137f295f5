import subprocess
import sys

import equinox as eqx
import jax
import numpy as np
import pytest

from fractal import nn
from fractal.tasks import Batches, DataError, Request, Task, from_arrays, load, names, register
from fractal.tasks import _registry as registry


@pytest.fixture
def recordings(rng):
    """Twenty recordings of three channels, of 5 to 12 steps."""
    return [rng.normal(size=(int(rng.integers(5, 13)), 3)) for _ in range(19)] + [np.ones((12, 3))]


def test_real_values_with_channels_come_in_padded_batches(recordings):
    labels = np.arange(20) % 4
    task = from_arrays(recordings, labels)
    assert (task.kind, task.length, task.inputs, task.outputs) == ("classification", 12, 3, 4)
    assert not task.tokens
    assert task.padded
    batch = Batches(task, task.splits.test, 4, training=False)[0]
    assert batch.inputs.shape == (4, 12, 3)
    assert batch.inputs.dtype == np.float32
    assert batch.real.tolist() == [True, True, False, False]
    for place, row in enumerate(task.splits.test.rows):
        recording = recordings[row]
        assert batch.lengths[place] == len(recording)
        np.testing.assert_allclose(batch.inputs[place, : len(recording)], recording, rtol=1e-6)
        assert not batch.inputs[place, len(recording) :].any()
        assert batch.labels[place] == labels[row]


@pytest.mark.parametrize("width", [None, 1, 2])
def test_float_labels_are_a_regression(recordings, rng, width):
    targets = rng.normal(size=20 if width is None else (20, width))
    task = from_arrays(recordings, targets)
    assert (task.kind, task.outputs) == ("regression", width or 1)
    batch = Batches(task, task.splits.train, 16, training=False)[0]
    assert batch.labels.dtype == np.float32
    expected = targets.reshape(20, -1)[task.splits.train.rows]
    np.testing.assert_allclose(batch.labels, expected, rtol=1e-6)
    assert from_arrays(recordings, np.arange(20), kind="regression").outputs == 1


@pytest.mark.parametrize("largest", [9, 300, 70_000])
def test_token_ids_are_stored_exactly(largest):
    sequences = [[0, largest], [1], [2, 3, 4]] * 10
    task = from_arrays(sequences, [True, False, True] * 10)
    assert task.tokens
    assert (task.inputs, task.outputs, task.length) == (largest + 1, 2, 3)
    batch = Batches(task, task.splits.train, 24, training=False)[0]
    assert batch.inputs.dtype == np.int32
    for place, row in enumerate(task.splits.train.rows):
        assert batch.inputs[place, : batch.lengths[place]].tolist() == sequences[row]


def test_one_channel_may_be_given_without_an_axis(rng):
    values = rng.normal(size=(30, 7))
    task = from_arrays(values, np.zeros(30, int))
    assert (task.inputs, task.outputs, task.padded) == (1, 2, False)
    batch = Batches(task, task.splits.train, 5, training=True)[0]
    assert batch.inputs.shape == (5, 7, 1)


def test_pairs_are_retrieval(rng):
    pairs = [([1, 2, 3], [i % 5]) for i in range(20)]
    task = from_arrays(pairs, np.arange(20) % 2, kind="retrieval")
    assert (task.kind, task.outputs) == ("retrieval", 2)
    batch = Batches(task, task.splits.test, 2, training=False)[0]
    assert batch.inputs.shape == (2, 2, 3)
    assert batch.lengths.tolist() == [[3, 1], [3, 1]]


def test_splits_are_disjoint_shares_drawn_by_the_seed(recordings):
    labels = np.zeros(20, int)
    first, again, other = (from_arrays(recordings, labels, seed=seed) for seed in (1, 1, 2))
    assert [len(split) for split in first.splits] == [16, 2, 2]
    rows = np.concatenate([split.rows for split in first.splits])
    assert sorted(rows.tolist()) == list(range(20))
    assert first.splits.test.rows.tolist() == again.splits.test.rows.tolist()
    assert first.splits.train.rows.tolist() != other.splits.train.rows.tolist()


def test_given_validation_and_test_sets_are_kept(recordings):
    train, test = (recordings[:15], [0] * 15), (recordings[15:], [1] * 5)
    task = from_arrays(*train, test=test, validation=0.2)
    assert [len(split) for split in task.splits] == [12, 3, 5]
    assert task.splits.test.labels.tolist() == [1] * 5
    both = from_arrays(*train, test=test, validation=test)
    assert [len(split) for split in both.splits] == [15, 5, 5]
    assert both.outputs == 2


def test_sizes_can_be_larger_than_the_data_needs():
    task = from_arrays([[1, 2]] * 20, [0] * 20, length=8, inputs=50, outputs=7, name="mine")
    assert (task.length, task.inputs, task.outputs, task.name) == (8, 50, 7, "mine")
    assert task.padded
    named = from_arrays([[1, 2]] * 20, [0] * 20, vocabulary=["a", "b", "c"])
    assert (named.inputs, named.vocabulary) == (3, ("a", "b", "c"))


def test_a_model_of_the_tasks_shapes_reads_its_batches(recordings, rng):
    task = from_arrays(recordings, rng.normal(size=(20, 2)))
    batch = Batches(task, task.splits.train, 4, training=True)[0]

    def outputs(key, inputs):
        model = nn.SequenceModel(
            task.inputs,
            task.outputs,
            task=task.kind,
            tokens=task.tokens,
            width=8,
            depth=1,
            key=key,
        )
        return jax.vmap(model)(inputs)

    found = eqx.filter_eval_shape(outputs, jax.random.key(0), batch.inputs)
    assert found.shape == batch.labels.shape == (4, 2)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))


def toy(request: Request) -> Task:
    return from_arrays([[1, 2, 3]] * 20, [0, 1] * 10, name="toy")


def test_a_registered_task_is_loaded_by_name(registered):
    register("toy", toy)
    register("toy", toy)
    assert names()[-1] == "toy"
    assert load("toy", preset="mini").name == "toy"
    with pytest.raises(ValueError, match="there is already a task 'toy'"):
        register("toy", lambda request: toy(request))
    with pytest.raises(ValueError, match="there is already a task 'listops'"):
        register("listops", toy)


def test_a_loader_receives_the_request_and_must_return_a_task(registered, tmp_path):
    seen = []
    register("broken", seen.append)
    with pytest.raises(ValueError, match="loader of task 'broken' must return a Task, got None"):
        load("broken", preset="mini", data=str(tmp_path), workers=2)
    assert seen == [Request("mini", tmp_path, "held-out", 2)]


def test_the_built_in_tasks_are_registered():
    assert names()[:10] == (
        *("listops", "text", "retrieval", "image", "pathfinder", "pathfinder_6", "pathfinder_9"),
        *("pathx", "smnist", "psmnist"),
    )


def test_a_registered_task_may_be_fetched(registered, tmp_path):
    from fractal.tasks import fetch

    register("toy", toy, fetcher=lambda source: tmp_path / source)
    assert fetch("toy", "hub") == tmp_path / "hub"
    register("plain", toy)
    with pytest.raises(DataError, match="nothing to download for task 'plain'"):
        fetch("plain")


def test_arrays_need_no_extra_and_images_name_theirs(cache):
    code = """
import sys
sys.modules.update(dict.fromkeys(("jax", "equinox", "PIL", "pooch", "rich", "tyro", "optax")))
from fractal import tasks
assert tasks.from_arrays([[1, 2]] * 20, [0, 1] * 10).length == 2
try:
    tasks.load("pathfinder", preset="mini")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "reading and drawing images needs pillow: pip install 'fractal-ssm[train]'\n"
    )
