import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fractal._power_sums import power_sums


def direct_sum(rates, s, d):
    return d.T @ np.exp(np.multiply.outer(s, rates))


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 64, 65, 1000, 10_000])
@pytest.mark.parametrize("start", [1.0, 100.0, 1e6])
@pytest.mark.parametrize("fastest", [1.0, 300.0, 1e6])
def test_sums_equal_the_direct_sum(length, start, fastest, rng):
    t = start + np.arange(length + 1.0)
    s = np.log(t[:-1] / t[-1])
    d = rng.standard_normal((length, 3))
    rates = np.geomspace(0.9, fastest, 20) + 1j * rng.uniform(0, 7, 20) * np.geomspace(
        1, fastest, 20
    )
    difference = np.abs(power_sums(rates, s, d) - direct_sum(rates, s, d))
    assert difference.max() <= 1e-13 * np.abs(d).sum(axis=0).max()


@given(
    steps=st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=300),
    rates=st.lists(st.tuples(st.floats(0.5, 1e5), st.floats(0, 1e5)), min_size=1, max_size=8),
)
def test_sums_equal_the_direct_sum_for_random_times_and_rates(steps, rates):
    t = 1 + np.cumsum(steps)
    s = np.log(t / t[-1])
    d = np.cos(np.arange(len(s)))[:, None]
    lam = np.array([complex(*rate) for rate in rates])
    np.testing.assert_allclose(
        power_sums(lam, s, d), direct_sum(lam, s, d), atol=1e-12 * np.abs(d).sum()
    )
