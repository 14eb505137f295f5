import itertools

import numpy as np
import pytest

from experiments import clock
from fractal.tasks import Batch, Split, Task
from fractal.tasks._sequences import Sequences
from fractal.tasks._task import Splits


def batch(tokens):
    inputs = np.arange(1, 13).reshape(1, 12)
    inputs = inputs if tokens else inputs.astype(np.float32)[..., None]
    return Batch(inputs, np.array([9]), np.array([0]), np.array([True]))


def test_a_repeated_signal_holds_every_sample_as_often_and_lasts_as_long(rng):
    view = clock.views(batch(tokens=True), True, rng)["repeated 2"]
    assert view.inputs[0].tolist() == [x for x in range(1, 13) for _ in range(2)]
    assert (view.lengths.tolist(), view.dt) == ([18], 0.5)


def test_a_subsampled_signal_keeps_every_second_sample_of_what_is_no_padding(rng):
    view = clock.views(batch(tokens=True), True, rng)["subsampled 0.5"]
    assert view.inputs[0].tolist() == [1, 3, 5, 7, 9, 11]
    assert view.lengths.tolist() == [5]
    assert view.dt == 2


def test_a_straight_line_stays_one_when_it_is_interpolated_or_averaged(rng):
    views = clock.views(batch(tokens=False), False, rng)
    inner = views["interpolated 4"].inputs[0, 2:-2, 0]
    np.testing.assert_allclose(np.diff(inner), 0.25, atol=1e-6)
    assert inner[0] == 1.125
    np.testing.assert_allclose(views["averaged 0.5"].inputs[0, :, 0], np.arange(1.5, 12, 2))


def test_between_tokens_nothing_is_interpolated(rng):
    assert not any("interp" in name for name in clock.views(batch(tokens=True), True, rng))


def test_a_warp_ends_where_the_padding_begins(rng):
    view = clock.views(batch(tokens=True), True, rng)["warped"]
    assert set(view.inputs[0, :9]) <= set(range(1, 10))
    assert view.inputs[0, 9:].tolist() == [10, 11, 12]
    assert view.lengths.tolist() == [9]


@pytest.mark.parametrize("told", [True, False])
def test_a_model_is_read_at_every_rate_and_told_of_it_only_where_asked(monkeypatch, told):
    sequences = Sequences(
        values=np.tile(np.arange(1, 9, dtype=np.uint8), 4),
        offsets=np.arange(5) * 8,
        labels=np.array([0, 1, 1, 1]),
        documents=1,
    )
    split = Split(sequences, np.arange(4))
    words = tuple("abcdefghi")
    task = Task("toy", "classification", 12, 9, 2, Splits(split, split, split), vocabulary=words)
    seen = set()

    def answers(model, inputs, mask, dt):
        seen.add((inputs.shape[-1], tuple(mask[:4]), dt))
        return np.tile([0.0, 1.0], (len(inputs), 1))  # always the second class

    monkeypatch.setattr(clock, "_answers", answers)
    found = clock.accuracies(None, task, told, seed=0)
    names = {"as trained", "repeated 2", "repeated 4", "subsampled 0.5", "warped"}
    rates = {"repeated 2", "repeated 4", "subsampled 0.5"}
    assert set(found) == (names | {f"{name}, told" for name in rates} if told else names)
    assert set(found.values()) == {0.75}
    untold = {(12, (8,) * 4, 1.0), (24, (16,) * 4, 1.0), (48, (32,) * 4, 1.0), (6, (4,) * 4, 1.0)}
    rescaled = {(24, (16,) * 4, 1 / 2), (48, (32,) * 4, 1 / 4), (6, (4,) * 4, 2.0)}
    assert seen == (untold | rescaled if told else untold)


@pytest.mark.parametrize("seed", range(5))
def test_a_warp_keeps_order_and_ends_and_swings_between_half_and_twice_the_rate(seed):
    index = clock.warp(1000, np.random.default_rng(seed))
    assert index[0] < 3
    assert index[-1] > 996
    # By construction the fastest part is four times as fast as the slowest.
    rates = [(b - a) / 50 for a, b in itertools.pairwise(index[::50])]
    assert (np.diff(index) >= 0).all()
    assert 3 < max(rates) / min(rates) < 4.2
