"""SITHCon's memory against numerical integration, and what a change of speed does to it."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from experiments.sithcon import Layer, SITHCon

K = 6
TAUS = (2.0 ** np.arange(-2, 5)).tolist()


@pytest.fixture(scope="module")
def layer():
    return Layer(2, channels=3, taps=3, taus=TAUS, k=K, key=jax.random.key(0))


def phi(x):
    return K ** (K + 1) / math.factorial(K) * x**K * math.exp(-K * x)


def test_the_memory_is_the_integral_of_its_kernel_times_the_past(layer, rng):
    u = rng.normal(size=(12, 2)).astype(np.float32)
    found = np.asarray(layer.memory(jnp.asarray(u)))
    for step, tau in [(0, 0), (4, 3), (11, 2), (11, 6)]:
        expected = sum(
            scipy.integrate.quad(lambda s, t=TAUS[tau]: phi(s / t) / t, age, age + 1)[0]
            * u[step - age]
            for age in range(step + 1)
        )
        np.testing.assert_allclose(found[step, :, tau], expected, atol=2e-6)


def test_the_memory_of_the_last_step_is_that_of_all_steps_and_ignores_padding(layer, rng):
    u = jnp.asarray(rng.normal(size=(12, 2)), jnp.float32)
    found = layer.last_memory(u.at[9:].set(99.0), jnp.asarray(9))
    np.testing.assert_allclose(found, layer.memory(u)[8], atol=1e-5)


def test_half_the_speed_shifts_the_memory_by_one_octave_of_time_constants(layer, rng):
    u = rng.normal(size=(16, 2)).astype(np.float32)
    fast = layer.last_memory(jnp.asarray(u), jnp.asarray(16))
    slow = layer.last_memory(jnp.asarray(np.repeat(u, 2, axis=0)), jnp.asarray(32))
    np.testing.assert_allclose(slow[:, 1:], fast[:, :-1], atol=1e-5)


def test_features_are_the_largest_inner_products_with_windows_of_log_time(layer, rng):
    memory = rng.normal(size=(4, 2, len(TAUS))).astype(np.float32)
    weight = np.asarray(layer.weight)
    shifts = [
        np.einsum("sit,cit->sc", memory[:, :, at : at + 3], weight) for at in range(len(TAUS) - 2)
    ]
    found = layer.features(jnp.asarray(memory))
    np.testing.assert_allclose(found, np.maximum(np.max(shifts, axis=0), 0), atol=1e-5)


def test_the_model_predicts_at_the_last_step(rng):
    net = SITHCon(
        1, 5, channels=4, taps=3, tau_min=0.5, tau_max=50.0, count=10, k=4, key=jax.random.key(1)
    )
    u = jnp.asarray(rng.normal(size=(20, 1)), jnp.float32)
    whole = net(u[:15], lengths=jnp.asarray(15))
    np.testing.assert_allclose(net(u, lengths=jnp.asarray(15)), whole, atol=1e-5)
    assert whole.shape == (5,)
