import itertools

import numpy as np
import pytest

from fractal._errors import UserError
from fractal.tasks import Batches, Split, Task
from fractal.tasks._images import levels
from fractal.tasks._sequences import Sequences
from fractal.tasks._task import Splits, all_rows


def ragged(lengths, documents=1, dtype=np.uint8):
    """Sequence i repeats i + 1, example i has label i."""
    values = np.repeat(np.arange(1, len(lengths) + 1), lengths).astype(dtype)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    labels = np.arange(len(lengths) // documents, dtype=np.int32)
    return Sequences(values, offsets, labels, documents)


def make_task(lengths, documents=1, length=16, **options):
    split = all_rows(ragged(lengths, documents))
    return Task("t", "classification", length, 300, 10, Splits(split, split, split), **options)


@pytest.fixture
def task():
    return make_task([3, 16, 9, 1, 7, 5, 8, 2, 4, 6, 11])


def test_rows_are_padded_behind_and_lengths_tell_what_is_real(task):
    batch = Batches(task, task.splits.test, 4, training=False)[0]
    assert batch.inputs.shape == (4, 16)
    assert batch.inputs.dtype == np.int32
    for row in range(4):
        length = batch.lengths[row]
        assert (batch.inputs[row, :length] == row + 1).all()
        assert (batch.inputs[row, length:] == 0).all()
    assert batch.lengths.tolist() == [3, 16, 9, 1]
    assert batch.labels.tolist() == [0, 1, 2, 3]


def test_evaluation_sees_every_example_once_in_order_and_fills_the_last_batch(task):
    batches = Batches(task, task.splits.test, 4, training=False)
    assert len(batches) == 3
    seen = [batches[number] for number in range(3)]
    assert np.concatenate([one.labels[one.real] for one in seen]).tolist() == list(range(11))
    assert seen[-1].real.tolist() == [True, True, True, False]
    assert seen[-1].lengths[-1] == 0
    assert (seen[-1].inputs[-1] == 0).all()


def test_an_epoch_of_training_contains_no_example_twice_and_drops_the_partial_batch(task):
    batches = Batches(task, task.splits.train, 4, training=True, seed=1)
    assert len(batches) == 2
    labels = np.concatenate([batches[0].labels, batches[1].labels])
    assert len(set(labels.tolist())) == 8


def test_epochs_differ_and_the_dropped_examples_change(task):
    batches = Batches(task, task.splits.train, 4, training=True)
    epochs = [
        tuple(np.concatenate([batches[2 * e].labels, batches[2 * e + 1].labels])) for e in range(12)
    ]
    assert len(set(epochs)) == 12
    assert set(itertools.chain(*epochs)) == set(range(11))


@pytest.mark.parametrize("buckets", [1, 3])
def test_resuming_at_any_position_gives_the_same_batches(task, buckets):
    def made():
        return Batches(task, task.splits.train, 2, training=True, seed=7, buckets=buckets)

    whole_run = list(itertools.islice(made().stream(), 13))
    for start in (1, 5, 6, 11):
        resumed = list(itertools.islice(made().stream(start), 13 - start))
        for one, other in zip(whole_run[start:], resumed, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)


def test_another_seed_gives_another_order(task):
    orders = {
        tuple(Batches(task, task.splits.train, 8, training=True, seed=seed)[0].labels)
        for seed in range(5)
    }
    assert len(orders) == 5


def test_buckets_pad_to_the_shortest_length_that_fits_the_batch(task):
    batches = Batches(task, task.splits.test, 2, training=False, buckets=4)
    seen = [batches[number] for number in range(len(batches))]
    shapes = {one.inputs.shape for one in seen}
    assert shapes == {(2, 4), (2, 8), (2, 12), (2, 16)}
    for one in seen:
        width = one.inputs.shape[1]
        assert (one.lengths <= width).all()
        assert (one.lengths[one.real] > width - 4).all()
    labels = np.concatenate([one.labels[one.real] for one in seen])
    assert sorted(labels.tolist()) == list(range(11))
    assert labels.tolist() == batches.examples().tolist()


def test_an_epoch_in_buckets_has_as_many_batches_and_no_example_twice():
    task = make_task([3, 16, 9, 1, 7, 5, 8, 2, 4, 6])
    batches = Batches(task, task.splits.train, 2, training=True, buckets=4)
    assert len(batches) == 5
    for epoch in range(4):
        seen = [batches[5 * epoch + i] for i in range(5)]
        assert sorted(label for one in seen for label in one.labels) == list(range(10))
        assert sum(one.inputs.shape[1] for one in seen) < 5 * 16


@pytest.mark.parametrize("buckets", [1, 2])
@pytest.mark.parametrize("training", [True, False])
def test_the_shares_of_processes_make_up_the_batch(task, training, buckets):
    def made(**share):
        split = task.splits.train
        return Batches(task, split, 4, training=training, buckets=buckets, **share)

    alone, shares = made(), [made(process=p, processes=2) for p in range(2)]
    for number in range(len(alone)):
        parts = [share[number] for share in shares]
        for field in ("inputs", "lengths", "labels", "real"):
            joined = np.concatenate([getattr(part, field) for part in parts])
            np.testing.assert_array_equal(joined, getattr(alone[number], field))


def test_pairs_of_documents_stay_together():
    task = make_task([3, 5, 2, 4, 6, 1], documents=2)
    batch = Batches(task, task.splits.test, 3, training=False)[0]
    assert batch.inputs.shape == (3, 2, 16)
    assert batch.lengths.tolist() == [[3, 5], [2, 4], [6, 1]]
    assert batch.inputs[:, :, 0].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_values_are_looked_up_and_have_a_channel():
    task = make_task([4, 4], length=4, levels=levels(0.5, 0.5))
    batch = Batches(task, task.splits.test, 2, training=False)[0]
    assert batch.inputs.shape == (2, 4, 1)
    assert batch.inputs.dtype == np.float32
    np.testing.assert_allclose(batch.inputs[0], (1 / 255 - 0.5) / 0.5, rtol=1e-6)


def test_a_split_is_some_rows_of_the_array(task):
    some = Split(task.splits.train.sequences, np.array([9, 2, 4]))
    assert some.labels.tolist() == [9, 2, 4]
    assert some.lengths[:, 0].tolist() == [6, 9, 7]
    assert some.documents(1)[0].tolist() == [3] * 9
    assert Batches(task, some, 3, training=False)[0].labels.tolist() == [9, 2, 4]


def test_a_batch_larger_than_the_data_or_not_shared_evenly_is_rejected(task):
    with pytest.raises(UserError, match="larger than the data, 11 examples"):
        Batches(task, task.splits.train, 12, training=True)
    with pytest.raises(UserError, match="is not a multiple of the 3 processes"):
        Batches(task, task.splits.train, 4, training=True, processes=3)
    assert len(Batches(task, task.splits.train, 11, training=True, buckets=3)) == 1


def test_an_error_in_the_background_reaches_the_reader(task, monkeypatch):
    batches = Batches(task, task.splits.train, 4, training=True)
    monkeypatch.setattr(batches, "_collated", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(batches.stream())
