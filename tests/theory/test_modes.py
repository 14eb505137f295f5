import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from fractal import theory


def step_response_error(alpha: float, order: int, s: float) -> float:
    """dx/ds = −A x + B from x = 0: x(s) = (I − exp(−A s)) A⁻¹ B. Modes: z = 1 − exp(−rate s)."""
    op = theory.operator(theory.Fractional(alpha), order)
    m = theory.modes(alpha, order)
    response = (m.readout @ -np.expm1(-m.rates * s)).real
    steady_state = np.linalg.solve(op.A, op.B)
    dense = steady_state - scipy.linalg.expm(-op.A * s) @ steady_state
    return np.linalg.norm(response - dense) / np.linalg.norm(dense)


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 5e-5, 1e-4, 5e-4, 5e-3, 0.01, 0.3, 0.9, 0.95])
@pytest.mark.parametrize("order", [4, 16, 64, 128])
def test_step_response_of_modes_equals_the_dense_matrix_exponential(alpha, order):
    assert max(step_response_error(alpha, order, s) for s in (0.01, 0.3, 3.0)) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 5e-5, 1e-4, 5e-4, 5e-3, 0.01, 0.3, 0.9, 0.95])
@pytest.mark.parametrize("order", [192, 256, 384])
def test_step_response_at_high_order_equals_the_dense_matrix_exponential(alpha, order):
    assert max(step_response_error(alpha, order, s) for s in (0.001, 0.01, 0.3, 3.0)) < 2e-9


@pytest.mark.parametrize("order", [pytest.param(16, marks=pytest.mark.slow), 64])
@pytest.mark.parametrize("kind", ["noise", pytest.param("spike", marks=pytest.mark.slow)])
def test_legs_modes_equal_the_exact_projection_for_rough_signals(order, kind, rng):
    """Noise and a late spike excite the fastest modes."""
    u = rng.standard_normal(20_000) if kind == "noise" else np.eye(20_000)[19_990]
    m = theory.modes(0.0, order)
    s = np.log(np.arange(1, 20_000) / 20_000)
    z = u[-1] - np.exp(np.multiply.outer(m.rates, s)) @ np.diff(u)
    best = theory.project(theory.LegS(), u, order)
    assert np.abs((m.readout @ z).real - best).max() < 1e-9 * np.abs(best).max()


@pytest.mark.parametrize("alpha", [0.0, 5e-5, 1e-4, 5e-4, 0.01, 0.5, 0.95])
@pytest.mark.parametrize("order", [64, 256])
def test_a_constant_is_reconstructed_to_eight_digits(alpha, order):
    coefficients = theory.modes(alpha, order).readout.sum(axis=1).real
    recalled = theory.recall(theory.Fractional(alpha), coefficients, [0.0, 1e-3, 0.3, 1.0])
    np.testing.assert_allclose(recalled, 1.0, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.951, 0.999])
def test_alpha_above_0_95_raises(alpha):
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 0.95\]"):
        theory.modes(alpha, 16)


@pytest.mark.parametrize("order", [16, 64, pytest.param(256, marks=pytest.mark.slow)])
def test_the_mean_over_the_circle_equals_legs_for_monomials(order):
    """For the input τ^k, k < order, the state at α = 0 is ⟨ξ^k, p_n⟩."""
    m = theory.modes(0.0, order)
    assert len(m.rates) == 3 * order
    for k in (0, 1, 5):
        # u = exp(k s): z = rate/(rate + k) u, at s = 0.
        x = (m.readout @ (m.rates / (m.rates + k))).real
        expected = np.zeros(order)
        expected[: k + 1] = theory.project(
            theory.LegS(), ((np.arange(200_000) + 0.5) / 200_000) ** k, order
        )[: k + 1]
        np.testing.assert_allclose(x, expected, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.01, 0.5, 0.94])
@pytest.mark.parametrize("order", [2, 16, 128])
def test_conjugate_pairs_are_stored_once(alpha, order):
    m = theory.modes(alpha, order)
    assert len(m.rates) == order // 2 + 1
    assert np.sum(m.rates.imag == 0) == 2
    assert m.rates.imag.min() == 0


@given(alpha=st.floats(0, 0.95), half=st.integers(1, 64))
def test_all_modes_decay_and_represent_a_constant(alpha, half):
    m = theory.modes(alpha, 2 * half)
    assert m.rates.real.min() > 0.5
    np.testing.assert_allclose(
        m.readout.sum(axis=1).real, np.eye(2 * half)[0], atol=1e-9 * np.abs(m.readout).max()
    )
