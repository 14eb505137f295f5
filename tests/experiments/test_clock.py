import itertools

import numpy as np
import pytest

from experiments import clock
from fractal.tasks import Batch


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


@pytest.mark.parametrize("seed", range(5))
def test_a_warp_keeps_order_and_ends_and_swings_between_half_and_twice_the_rate(seed):
    index = clock.warp(1000, np.random.default_rng(seed))
    assert index[0] < 3
    assert index[-1] > 996
    # By construction the fastest part is four times as fast as the slowest.
    rates = [(b - a) / 50 for a, b in itertools.pairwise(index[::50])]
    assert (np.diff(index) >= 0).all()
    assert 3 < max(rates) / min(rates) < 4.2
