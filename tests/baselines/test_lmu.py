import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.special

from fractal.baselines import LMU
from mixers import signal, streamed


def layer(width=3, order=6, memories=2, window=20.0, **options):
    return LMU(
        width, order=order, memories=memories, window=window, **{"key": jax.random.key(0)} | options
    )


def brute_force(lmu, u, dt=1.0):
    """Memories after each step, by matrix exponentials of the delay system."""
    d = lmu.order
    A, B = np.zeros((d, d)), np.zeros(d)
    for n in range(d):
        B[n] = (2 * n + 1) * (-1) ** n
        for k in range(d):
            A[n, k] = (2 * n + 1) * (-1 if n < k else (-1) ** (n - k + 1))
    A_bar = scipy.linalg.expm(A * dt / lmu.window)
    B_bar = np.linalg.solve(A, (A_bar - np.eye(d)) @ B)
    m, kept = np.zeros((len(lmu.encoders), d)), []
    for s in np.asarray(u, float) @ np.asarray(lmu.encoders, float).T:
        m = m @ A_bar.T + np.outer(s, B_bar)
        kept.append(m)
    return np.stack(kept)


@pytest.mark.parametrize(
    ("bidirectional", "dt"), [(True, 1.7), pytest.param(False, None, marks=pytest.mark.slow)]
)
def test_outputs_equal_a_loop_of_matrix_exponentials(bidirectional, dt):
    with jax.enable_x64(True):
        lmu, u = layer(bidirectional=bidirectional), signal(75, 3)
        m = [brute_force(lmu, u, dt or 1.0)]
        if bidirectional:
            m.append(brute_force(lmu, u[::-1], dt or 1.0)[::-1])
        features = np.concatenate([part.reshape(75, -1) for part in m], axis=1)
        expected = np.tanh(u @ lmu.W_x.T + features @ lmu.W_m.T + lmu.bias[None])
        np.testing.assert_allclose(lmu(u, dt=dt)[0], expected, atol=1e-11)


def test_memory_reconstructs_the_window_of_a_band_limited_signal():
    """u(t − r θ) = Σ P_n(2r − 1) m_n, for periods of at least a third of the window."""
    window, length = 200, 700
    lmu = layer(1, order=16, memories=1, window=window)
    lmu = eqx.tree_at(lambda x: x.encoders, lmu, jnp.ones((1, 1)))
    rng = np.random.default_rng(0)
    phases, frequencies = rng.uniform(0, 6, 4), 2 * np.pi / np.array([67, 90, 150, 400])

    def value(time):
        return np.sin(frequencies * time[:, None] + phases).sum(axis=1)

    samples = value(np.arange(length) + 0.5)  # midpoints of the zero-order hold intervals
    _, m = lmu(jnp.asarray(samples, jnp.float32)[:, None])
    ages = np.linspace(0, 1, 101)
    polynomials = scipy.special.eval_legendre(np.arange(16), 2 * ages[:, None] - 1)
    recalled, expected = polynomials @ np.asarray(m[0]), value(length - window * ages)
    assert np.abs(recalled - expected).max() < 0.03 * np.abs(expected).max()


def test_steps_and_resumed_calls_equal_one_call():
    lmu, u = layer(), signal(90, 3)
    y, final, steps, last, chunks = streamed(lmu, u, 40)
    for other in (steps, chunks):
        np.testing.assert_allclose(other, y, atol=1e-5)
    np.testing.assert_allclose(last, final, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(window=0), "window must be a finite number above 0"),
        (lambda: layer(memories=0), "memories must be an integer of at least 1"),
        (lambda: layer()(jnp.zeros((5, 3)), dt=jnp.ones(5)), "dt must be one number"),
        (lambda: layer(bidirectional=True).initial_state(), "no step or state"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
