import itertools

import numpy as np
import pytest

from experiments import recall
from fractal.report.recall import sample_ages


def test_every_sample_is_in_one_band_of_ages():
    ages = sample_ages(recall.LENGTH)
    inside = [((ages >= a) & (ages < b)).sum() for a, b in itertools.pairwise(recall.EDGES)]
    assert sum(inside) == recall.LENGTH
    assert min(inside) > 2


def test_the_published_pair_read_as_legs_is_legs():
    u = recall.drawn("brownian", 0)[::50]
    as_legs, legs = (recall.recalled(name, u) for name in ("published 0.9 as LegS", "legs"))
    np.testing.assert_allclose(as_legs, legs, atol=1e-8)


@pytest.mark.parametrize("name", ["brownian", "fgn 0.2"])
def test_each_seed_resamples_the_signal(name):
    assert not np.array_equal(recall.drawn(name, 0), recall.drawn(name, 1))
    assert np.array_equal(recall.drawn(name, 0), recall.drawn(name, 0))
