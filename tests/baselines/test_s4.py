import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal import theory
from fractal.baselines import S4
from fractal.baselines._legs import normal_legs
from mixers import complex_of, signal, streamed


def layer(width=2, order=8, length=30, **options):
    return S4(width, order=order, length=length, **{"key": jax.random.key(0)} | options)


def dense(ssm, dt=1.0):
    """Ā, B̄ and C per channel as dense matrices over all conjugate pairs."""
    copies = len(ssm.log_decay)
    half = -np.exp(np.asarray(ssm.log_decay, float)) + 1j * np.asarray(ssm.frequency, float)
    both = [np.concatenate([x, x.conj()], axis=-1) for x in
            (half, complex_of(ssm.P), complex_of(ssm.B), complex_of(ssm.C))]  # fmt: skip
    eigenvalues, P, B, C_tilde = both
    one = np.eye(eigenvalues.shape[1])
    systems = []
    for h, step in enumerate(np.exp(np.asarray(ssm.log_dt, float))):
        A = np.diag(eigenvalues[h % copies]) - np.outer(P[h % copies], P[h % copies].conj())

        def bilinear(step, A=A):
            return np.linalg.solve(one - step / 2 * A, one + step / 2 * A)

        trained = one - np.linalg.matrix_power(bilinear(step), ssm.length)
        C = C_tilde[:, h] @ np.linalg.inv(trained)
        B_bar = np.linalg.solve(one - dt * step / 2 * A, dt * step * B[h % copies])
        systems.append((bilinear(dt * step), B_bar, C))
    return systems


def convolved(ssm, u, dt=1.0):
    u = np.asarray(u, float)
    y = np.asarray(ssm.D, float) * u
    for h, (A, B, C) in enumerate(dense(ssm, dt)):
        powers = np.stack([np.linalg.matrix_power(A, k) @ B for k in range(len(u))], axis=1)
        kernels = C @ powers
        assert np.abs(kernels.imag).max() < 1e-10
        for step in range(len(u)):
            y[step, h] += kernels[0, : step + 1].real @ u[step::-1, h]
            if len(C) == 2:
                y[step, h] += kernels[1, : len(u) - step - 1].real @ u[step + 1 :, h]
    return y


def test_initial_system_is_legs_in_another_basis():
    for order in (4, 64):
        legs = normal_legs(order)
        eigenvalues, P, B = (
            np.concatenate([x, x.conj()]) for x in (legs.eigenvalues, legs.P, legs.B)
        )
        V = np.concatenate([legs.V, legs.V.conj()], axis=1)
        np.testing.assert_allclose(V.conj().T @ V, np.eye(order), atol=1e-12)
        operator = theory.operator(theory.LegS(), order)
        A = V @ (np.diag(eigenvalues) - np.outer(P, P.conj())) @ V.conj().T
        np.testing.assert_allclose(A, -operator.A, atol=1e-11 * np.abs(operator.A).max())
        np.testing.assert_allclose(V @ B, operator.B, atol=1e-11)


@pytest.mark.parametrize(
    ("length", "samples", "dt", "options"),
    [
        (30, 30, None, {"order": 16, "dt_min": 0.05, "dt_max": 0.5}),
        (31, 20, None, {"bidirectional": True, "copies": 2}),  # shorter than trained, odd
        pytest.param(20, 33, None, {}, marks=pytest.mark.slow),  # longer
        (30, 30, 0.6, {"bidirectional": True}),
    ],
)
def test_outputs_equal_a_convolution_with_powers_of_the_dense_matrices(
    length, samples, dt, options
):
    with jax.enable_x64(True):
        ssm, u = layer(length=length, **options), signal(samples, 2)
        np.testing.assert_allclose(ssm(u, dt=dt)[0], convolved(ssm, u, dt or 1.0), atol=1e-9)


def test_readout_of_the_initial_state_is_c_recovered_from_the_parameter():
    """The initial C is complex normal of unit variance, independent of the length."""
    with jax.enable_x64(True):
        ssm = layer(width=64, length=30)
        C = np.stack([C[0, :4] for _, _, C in dense(ssm)])
        np.testing.assert_allclose(np.mean(np.abs(C) ** 2), 1, rtol=0.15)
        np.testing.assert_allclose(ssm.initial_state().readout, C, atol=1e-9)


@pytest.mark.parametrize(
    ("x64", "tolerance"), [(False, 1e-4), pytest.param(True, 1e-9, marks=pytest.mark.slow)]
)
def test_steps_and_resumed_calls_equal_the_convolution(x64, tolerance):
    with jax.enable_x64(x64):
        ssm, u = layer(order=32, length=90), signal(90, 2)
        y, final, steps, last, chunks = streamed(ssm, u, 40)
        for other in (steps, chunks):
            np.testing.assert_allclose(other, y, atol=tolerance)
        np.testing.assert_allclose(last.modes, final.modes, atol=tolerance)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(length=0), "length must be an integer of at least 1"),
        (lambda: layer(order=5), "order must be even"),
        (lambda: layer(copies=3), "copies must divide width = 2"),
        (lambda: layer()(jnp.zeros((5, 2)), dt=jnp.ones(5)), "dt must be one number"),
        (lambda: layer(bidirectional=True).initial_state(), "no step or state"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
