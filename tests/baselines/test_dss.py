import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from fractal.baselines import DSS
from mixers import complex_of, signal, streamed


def layer(width=3, order=5, **options):
    return DSS(width, order=order, **{"key": jax.random.key(0)} | options)


def dense_kernels(ssm, length):
    """Kernels by matrix exponentials, or by an explicit softmax."""
    real, frequency = np.asarray(ssm.real, float), np.asarray(ssm.frequency, float)
    eigenvalues = (-np.exp(real) if ssm.kernel == "exp" else real) + 1j * frequency
    steps, W = np.exp(np.asarray(ssm.log_dt, float)), complex_of(ssm.W)
    kernels = np.zeros((*W.shape[:2], length))
    for h in range(W.shape[1]):
        x = steps[h, 0] * eigenvalues.real + 1j * steps[h, 1] * eigenvalues.imag
        if ssm.kernel == "exp":
            A_bar = scipy.linalg.expm(np.diag(x))
            b = np.linalg.solve(np.diag(eigenvalues), np.diag(A_bar) - 1)
            rows = np.stack([np.linalg.matrix_power(A_bar, k) @ b for k in range(length)], axis=1)
        else:
            powers = np.exp(x[:, None] * np.arange(length))
            rows = powers / powers.sum(axis=1, keepdims=True) / eigenvalues[:, None]
        kernels[:, h] = (W[:, h] @ rows).real
    return kernels


@pytest.mark.parametrize(
    ("kernel", "scan", "tolerance"),
    [
        ("exp", "convolution", 1e-11),
        ("exp", "chunked", 1e-11),
        ("softmax", "convolution", 1e-5),
    ],
)
def test_outputs_equal_an_explicit_convolution(kernel, scan, tolerance):
    """The softmax tolerance covers the published 1/x, which is x̄/(|x|² + 10⁻⁷)."""
    with jax.enable_x64(True):
        ssm, u = layer(kernel=kernel, scan=scan, bidirectional=True), signal(40, 3)
        steps = jnp.array([[0.02, 0.05], [0.1, 0.03], [0.06, 0.09]])  # unequal, as after training
        ssm = eqx.tree_at(lambda s: s.log_dt, ssm, jnp.log(steps))
        if kernel == "softmax":  # with growing modes
            ssm = eqx.tree_at(lambda s: s.real, ssm, jnp.array([0.4, -0.5, -2.0, 1.3, -0.1]))
        forward, backward = dense_kernels(ssm, 40)
        expected = np.asarray(ssm.D) * np.asarray(u)
        for step in range(40):
            for source in range(40):
                lag = step - source
                kernel = forward[:, lag] if lag >= 0 else backward[:, -lag - 1]
                expected[step] += kernel * np.asarray(u[source])
        np.testing.assert_allclose(ssm(u)[0], expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(
    ("x64", "tolerance"), [(True, 1e-9), pytest.param(False, 1e-4, marks=pytest.mark.slow)]
)
def test_steps_and_resumed_calls_equal_the_convolution(x64, tolerance):
    with jax.enable_x64(x64):
        ssm, u = layer(order=16), signal(90, 3)
        y, final, steps, last, chunks = streamed(ssm, u, 40)
        for other in (steps, chunks):
            np.testing.assert_allclose(other, y, atol=tolerance * np.abs(y).max())
        np.testing.assert_allclose(last, final, atol=tolerance)


def test_initial_eigenvalues_are_those_of_the_normal_part_of_legs():
    """Eigenvalues of the skew part of LegS of twice the order, by a general eigensolver."""
    n = np.arange(32)
    lower = np.tril(np.sqrt(np.outer(2 * n + 1, 2 * n + 1)), -1)
    eigenvalues = np.linalg.eigvals((lower - lower.T) / 2)
    expected = np.sort(eigenvalues.imag[eigenvalues.imag > 0])[::-1]
    np.testing.assert_allclose(layer(order=16).frequency, expected, rtol=1e-5)
    np.testing.assert_allclose(layer(kernel="softmax").real, -0.5)


def test_one_initial_step_size_per_channel_is_drawn_for_both_parts():
    log_dt = np.asarray(layer(width=400).log_dt)
    np.testing.assert_array_equal(log_dt[:, 0], log_dt[:, 1])
    assert len(np.unique(log_dt[:, 0])) == 400
    # Uniform between the logarithms of the ends.
    quantiles = np.quantile(log_dt[:, 0], [0.25, 0.5, 0.75]) / np.log(10)
    np.testing.assert_allclose(quantiles, [-2.5, -2, -1.5], atol=0.2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(kernel="relu"), "kernel must be one of exp, softmax"),
        (lambda: layer(scan="fft"), "scan must be one of convolution, auto"),
        (lambda: layer(kernel="softmax", scan="auto"), "scan must be 'convolution' for kernel"),
        (lambda: layer(order=0), "order must be an integer of at least 1"),
        (lambda: layer(kernel="softmax").initial_state(), "depends on the length"),
        (lambda: layer(kernel="softmax").step(jnp.zeros(3), jnp.zeros((3, 5), complex)), "no step"),
        (
            lambda: layer(bidirectional=True).step(jnp.zeros(3), jnp.zeros((3, 5), complex)),
            "no step",
        ),
        (lambda: layer()(jnp.zeros((5, 3)), dt=jnp.ones(5)), "dt must be one number"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
