"""Sums and clocks of streams, after any number of steps."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from fractal.nn._clock import advance, elapsed_per_step
from fractal.nn._running_sum import accumulate

FAR = 10**12  # steps


def exact(total, lost):
    return sum(Fraction(float(word)) for word in (total, *lost))


COUNT = 20_000


@jax.jit
def add_repeatedly(total, lost, term):
    def add(carry, _):
        return accumulate(*carry, term), None

    return jax.lax.scan(add, (total, lost), None, length=COUNT)[0]


@pytest.mark.parametrize("term", [1.0, 0.1, 3e-3, 7e5])
@pytest.mark.parametrize("start", [0.0, 1e12])
def test_a_float32_sum_of_any_length_is_exact_to_the_precision_of_its_terms(term, start):
    term = jnp.float32(term)
    total, lost = add_repeatedly(jnp.float32(start), jnp.zeros(2, jnp.float32), term)
    added = exact(total, lost) - Fraction(float(np.float32(start)))
    assert abs(added / (COUNT * Fraction(float(term))) - 1) < 1e-7
    assert abs(float(total) / float(exact(total, lost)) - 1) < 2**-24


def test_a_sum_is_exact_with_a_constant_term_and_in_a_batch():
    starts = jnp.array([1e12, 3.0, 0.0], jnp.float32)
    lost = jnp.zeros((3, 2), jnp.float32)
    batch = jax.jit(jax.vmap(lambda total, lost: accumulate(total, lost, jnp.float32(0.1))))
    totals, rests = batch(starts, lost)
    for start, total, rest in zip(starts, totals, rests, strict=True):
        assert exact(total, rest) - Fraction(float(start)) == Fraction(float(np.float32(0.1)))


def test_the_derivative_of_a_sum_is_that_of_addition():
    lost = jnp.array([3000.0, 1e-4], jnp.float32)
    jacobian = jax.jit(jax.jacrev(accumulate, argnums=(0, 2)))(jnp.float32(1e12), lost, 0.1)
    (by_total, by_term), (lost_by_total, lost_by_term) = jacobian
    assert (by_total, by_term) == (1, 1)
    np.testing.assert_array_equal(lost_by_total, 0)
    np.testing.assert_array_equal(lost_by_term, 0)


@pytest.mark.parametrize("dt", [1.0, 0.37])
def test_elapsed_times_after_many_steps_equal_mpmath(dt):
    time, lost = jnp.float32(FAR), jnp.zeros(2, jnp.float32)

    @jax.jit
    def run(time, lost, dt):
        elapsed = elapsed_per_step("scale-invariant", 7, time, dt, None)
        return elapsed, advance(time, lost, 7, dt, None)

    for _ in range(3):
        start = exact(time, lost)
        elapsed, (time, lost) = run(time, lost, jnp.float32(dt))
        step = Fraction(float(np.float32(dt)))
        for k in range(7):
            now = start + k * step
            ratio = mpmath.mpf(step.numerator) * now.denominator
            expected = mpmath.log1p(ratio / (mpmath.mpf(step.denominator) * now.numerator))
            assert abs(float(elapsed[k]) / expected - 1) < 1e-6
        assert abs((exact(time, lost) - start) / (7 * step) - 1) < 1e-6
    slope = jax.grad(lambda t: elapsed_per_step("scale-invariant", 1, t, jnp.float32(dt), None)[0])
    assert abs(slope(jnp.float32(1e12)) / (-dt / 1e24) - 1) < 1e-5


def test_clocks_of_several_blocks_are_independent():
    time = jnp.array([0.0, 5.0, 1e12])
    dt = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    mask = jnp.array([True, False])
    for clock in ("uniform", "scale-invariant"):
        elapsed = elapsed_per_step(clock, 2, time, dt, mask)
        after, lost = advance(time, jnp.zeros((2, 3)), 2, dt, mask)
        for i in range(3):
            alone = elapsed_per_step(clock, 2, time[i], dt[:, i], mask)
            np.testing.assert_array_equal(elapsed[:, i], alone)
            one = advance(time[i], jnp.zeros(2), 2, dt[:, i], mask)
            assert exact(after[i], lost[:, i]) == exact(*one)


def test_the_duration_of_a_long_irregular_block_is_accurate():
    dt = np.random.default_rng(0).uniform(0.1, 2, 1_000_000).astype(np.float32)
    total, lost = advance(
        jnp.float32(1e12), jnp.zeros(2, jnp.float32), len(dt), jnp.array(dt), None
    )
    added = exact(total, lost) - Fraction(float(np.float32(1e12)))
    assert abs(float(added) / dt.astype(float).sum() - 1) < 1e-6
