import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from fractal.baselines import S4D
from mixers import complex_of, signal, streamed


def layer(width=4, order=8, **options):
    return S4D(width, order=order, **{"key": jax.random.key(0)} | options)


def dense_kernels(ssm, length, dt=1.0):
    """Kernels per channel by powers of the discretized matrices."""
    copies = len(ssm.log_decay)
    A = -np.exp(np.asarray(ssm.log_decay, float)) + 1j * np.asarray(ssm.frequency, float)
    B, C = complex_of(ssm.B), complex_of(ssm.C)
    kernels = np.zeros((*C.shape[:2], length))
    for h, step in enumerate(dt * np.exp(np.asarray(ssm.log_dt, float))):
        a, b = A[h % copies], B[h % copies]
        n = len(a)
        if ssm.discretization == "zoh":
            augmented = np.zeros((n + 1, n + 1), complex)
            augmented[:n, :n], augmented[:n, n] = np.diag(a), b
            discrete = scipy.linalg.expm(step * augmented)
            A_bar, x = discrete[:n, :n], discrete[:n, n]
        else:
            denominator = np.eye(n) - step / 2 * np.diag(a)
            A_bar = np.linalg.solve(denominator, np.eye(n) + step / 2 * np.diag(a))
            x = np.linalg.solve(denominator, step * b)
        for k in range(length):
            kernels[:, h, k] = 2 * (C[:, h] @ x).real
            x = A_bar @ x
    return kernels


def convolved(kernels, D, u):
    """Explicit convolution; the second kernel is over later steps."""
    u = np.asarray(u, float)
    y = np.asarray(D, float) * u
    for step_number in range(len(u)):
        for source in range(len(u)):
            if source <= step_number:
                y[step_number] += kernels[0, :, step_number - source] * u[source]
            elif len(kernels) == 2:
                y[step_number] += kernels[1, :, source - step_number - 1] * u[source]
    return y


@pytest.mark.parametrize(
    ("options", "dt"),
    [
        ({"init": "legs"}, None),
        ({"init": "inv", "bidirectional": True, "copies": 2}, 0.7),
        ({"init": "lin", "discretization": "bilinear", "dt_max": 2.0}, 1.5),
        ({"bidirectional": True, "copies": 2, "scan": "auto"}, 0.7),
    ],
)
def test_outputs_equal_a_convolution_with_powers_of_the_dense_matrices(options, dt):
    with jax.enable_x64(True):
        ssm, u = layer(**options), signal(30, 4)
        expected = convolved(dense_kernels(ssm, 30, dt or 1.0), ssm.D, u)
        np.testing.assert_allclose(ssm(u, dt=dt)[0], expected, atol=1e-11)


@pytest.mark.parametrize(
    ("discretization", "x64", "tolerance"),
    [
        ("zoh", True, 1e-9),
        ("bilinear", False, 1e-4),
        pytest.param("bilinear", True, 1e-9, marks=pytest.mark.slow),
        pytest.param("zoh", False, 1e-4, marks=pytest.mark.slow),
    ],
)
def test_steps_and_resumed_calls_equal_the_convolution(discretization, x64, tolerance):
    with jax.enable_x64(x64):
        ssm, u = layer(order=32, discretization=discretization), signal(90, 4)
        y, final, steps, last, chunks = streamed(ssm, u, 40)
        for other in (steps, chunks):
            np.testing.assert_allclose(other, y, atol=tolerance)
        np.testing.assert_allclose(last, final, atol=tolerance)


def test_initial_frequencies_are_as_published():
    """(N/π)(N/(2n+1) − 1), πn, and those of LegS, which the first approximates."""
    n = np.arange(32)
    np.testing.assert_allclose(layer(order=64, init="lin").frequency[0], np.pi * n, rtol=1e-6)
    inverse = np.asarray(layer(order=64, init="inv").frequency[0])
    np.testing.assert_allclose(inverse[:3], [1283.4, 414.2, 240.4], rtol=1e-3)
    legs = -np.asarray(layer(order=64, init="legs").frequency[0])
    np.testing.assert_allclose(legs[:3], [1303.3, 433.0, 258.2], rtol=1e-3)
    np.testing.assert_allclose(layer().log_decay, np.log(0.5), rtol=1e-6)


def test_gradients_are_finite_for_a_zero_gate():
    """Bilinear gate of zero: Δλ = −2."""
    ssm = layer(init="lin", discretization="bilinear", dt_min=4, dt_max=4)
    loss = jax.jit(jax.value_and_grad(lambda s, u: jnp.sum(s(u)[0])))
    y, gradient = loss(ssm, jnp.ones((9, 4)))
    assert np.isfinite(y)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(init="quad"), "init must be one of legs, lin, inv"),
        (lambda: layer(order=7), "order must be even"),
        (lambda: layer(copies=3), "copies must divide width = 4"),
        (lambda: layer(discretization="euler"), "discretization must be one of zoh, bilinear"),
        (lambda: layer(scan="fft"), "scan must be one of convolution, auto"),
        (lambda: layer()(jnp.zeros((5, 4)), dt=jnp.ones(5)), "dt must be one number"),
        (lambda: layer(bidirectional=True).initial_state(), "no step or state"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
