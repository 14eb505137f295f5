import itertools

import numpy as np
import pytest

from experiments import clock
from fractal.tasks import Batch, Sequences, Split, Splits, Task


def batch(tokens):
    inputs = np.arange(1, 13).reshape(1, 12)
    inputs = inputs if tokens else inputs.astype(np.float32)[..., None]
    return Batch(inputs, np.array([9]), np.array([0]), np.array([True]))


def test_a_repeated_signal_contains_every_sample_as_often_and_lasts_as_long(rng):
    view = clock.views(batch(tokens=True), True, rng)["2× upsampled"]
    assert view.inputs[0].tolist() == [x for x in range(1, 13) for _ in range(2)]
    assert (view.lengths.tolist(), view.dt) == ([18], 0.5)


def test_a_subsampled_signal_keeps_every_second_sample_that_is_not_padding(rng):
    view = clock.views(batch(tokens=True), True, rng)["2× downsampled"]
    assert view.inputs[0].tolist() == [1, 3, 5, 7, 9, 11]
    assert view.lengths.tolist() == [5]
    assert view.dt == 2


def test_a_straight_line_stays_one_when_it_is_interpolated_or_averaged(rng):
    views = clock.views(batch(tokens=False), False, rng)
    inner = views["4× interpolated"].inputs[0, 2:-2, 0]
    np.testing.assert_allclose(np.diff(inner), 0.25, atol=1e-6)
    assert inner[0] == 1.125
    np.testing.assert_allclose(
        views["2× downsampled (mean)"].inputs[0, :, 0], np.arange(1.5, 12, 2)
    )


def test_between_tokens_nothing_is_interpolated(rng):
    assert not any("interp" in name for name in clock.views(batch(tokens=True), True, rng))


def test_a_warp_ends_where_the_padding_begins(rng):
    view = clock.views(batch(tokens=True), True, rng)["warped"]
    assert set(view.inputs[0, :9]) <= set(range(1, 10))
    assert view.inputs[0, 9:].tolist() == [10, 11, 12]
    assert view.lengths.tolist() == [9]


@pytest.mark.parametrize("rescale", [True, False])
def test_a_model_is_evaluated_at_every_rate_with_rescaling_only_where_asked(monkeypatch, rescale):
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

    def logits(model, inputs, lengths, dt):
        seen.add((inputs.shape[-1], tuple(lengths[:4]), dt))
        return np.tile([0.0, 1.0], (len(inputs), 1))  # always the second class

    monkeypatch.setattr(clock, "_logits", logits)
    found = clock.accuracies(None, task, rescale, seed=0)
    rates = {"2× upsampled", "4× upsampled", "2× downsampled"}
    names = {"training rate", "warped"} | rates
    assert set(found) == (names | {f"{name}, rescaled Δ" for name in rates} if rescale else names)
    assert set(found.values()) == {0.75}
    plain = {(12, (8,) * 4, 1.0), (24, (16,) * 4, 1.0), (48, (32,) * 4, 1.0), (6, (4,) * 4, 1.0)}
    rescaled = {(24, (16,) * 4, 1 / 2), (48, (32,) * 4, 1 / 4), (6, (4,) * 4, 2.0)}
    assert seen == (plain | rescaled if rescale else plain)


@pytest.mark.parametrize("seed", range(5))
def test_a_warp_keeps_order_and_ends_and_swings_between_half_and_twice_the_rate(seed):
    index = clock.warp(1000, np.random.default_rng(seed))
    assert index[0] < 3
    assert index[-1] > 996
    # By construction the fastest part is four times as fast as the slowest.
    rates = [(b - a) / 50 for a, b in itertools.pairwise(index[::50])]
    assert (np.diff(index) >= 0).all()
    assert 3 < max(rates) / min(rates) < 4.2
