import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from fractal import theory

ALPHAS = (0.05, 0.3, 0.6, 0.9)


def monomial_projection(alpha: float, order: int) -> np.ndarray:
    """⟨ξ^m, p_n⟩_μ for m ≤ order, n < order, by mpmath's Beta function (rows m)."""
    with mpmath.workdps(40):
        a = mpmath.mpf(alpha)
        rows = [
            [
                (1 - a)
                * mpmath.sqrt((2 * n + 1 - a) / (1 - a))
                * mpmath.binomial(m, n)
                * mpmath.beta(m + 1, n + 1 - a)
                for n in range(order)
            ]
            for m in range(order + 1)
        ]
        return np.array(rows, dtype=float)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("order", [8, 16, 32, 64])
def test_fractional_operator_is_exact_for_polynomials_up_to_degree_order(alpha, order):
    op = theory.operator(theory.Fractional(alpha), order)
    x = monomial_projection(alpha, order)
    for m in range(order + 1):
        # u = τ^m has coefficients t^m x_m, so dx/d(log t) = m x = −A x + B u(t), with u(t) = 1.
        residual = m * x[m] + op.A @ x[m] - op.B
        assert np.linalg.norm(residual) <= 1e-9 * np.linalg.norm(op.B)


@pytest.mark.parametrize("order", [2, 8, 64])
def test_fractional_operator_at_alpha_zero_is_legs(order):
    zero, legs = (theory.operator(m, order) for m in (theory.Fractional(0.0), theory.LegS()))
    n = np.arange(order)
    hippo = np.tril(np.sqrt(np.outer(2 * n + 1, 2 * n + 1)), -1) + np.diag(n + 1.0)
    np.testing.assert_allclose(zero.A, hippo, atol=1e-12 * order)
    np.testing.assert_allclose(legs.A, hippo, rtol=1e-15)
    np.testing.assert_allclose(zero.B, np.sqrt(2 * n + 1), rtol=1e-12)
    np.testing.assert_allclose(legs.B, np.sqrt(2 * n + 1), rtol=1e-15)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("order", [2, 4, 16, 64, 128])
def test_fractional_eigenvalues_have_real_part_above_one_half(alpha, order):
    eigenvalues = np.linalg.eigvals(theory.operator(theory.Fractional(alpha), order).A)
    assert eigenvalues.real.min() > 0.5


@given(alpha=st.floats(0, 0.95), half=st.integers(1, 16))
def test_the_lyapunov_function_of_the_stability_proof_decreases(alpha, half):
    """∫|v|² (1−ξ)^(−1−α) with v(1) = 0: its matrix Q makes QA + AᵀQ positive definite."""
    order = 2 * half
    op = theory.operator(theory.Fractional(alpha), order)
    # v = Σ_{k≤N} x_k p_k with v(1) = 0, evaluated at Gauss-Jacobi nodes of (1−ξ)^(1−α) after
    # dividing by 1 − ξ.
    from scipy.special import eval_jacobi, roots_jacobi

    eta, weight = roots_jacobi(order + 2, 1 - alpha, 0.0)
    k = np.arange(order + 1)
    gamma = np.sqrt((2 * k + 1 - alpha) / (1 - alpha))
    p = gamma[:, None] * eval_jacobi(k[:, None], -alpha, 0, eta)
    at_one = gamma * eval_jacobi(k, -alpha, 0, 1.0)
    v = p[:order] - np.outer(at_one[:order] / at_one[order], p[order])
    q = v / (1 - eta)
    Q = (q * weight) @ q.T
    S = Q @ op.A + op.A.T @ Q
    assert np.linalg.eigvalsh((S + S.T) / 2).min() > 0


@pytest.mark.parametrize(
    "measure", [theory.LagT(), theory.LagT(timescale=0.1), theory.LegT(window=0.4)], ids=repr
)
def test_lagt_and_legt_operators_track_the_projection_of_a_smooth_signal(measure):
    # dx/dt = −A x + B u from x = 0 by dense matrix exponentials, compared with the projection.
    length, order = 4000, 24
    t = (np.arange(length) + 0.5) / length
    u = t**2 * np.sin(5 * t)  # zero at the start, as the state
    op = theory.operator(measure, order)
    augmented = np.zeros((order + 1, order + 1))
    augmented[:order, :order], augmented[:order, order] = -op.A, op.B
    step = scipy.linalg.expm(augmented / length)
    x = np.zeros(order)
    for value in u:
        x = step[:order, :order] @ x + step[:order, order] * value
    # LagT is exact; LegT approximates the sample that leaves the window.
    tolerance = 1e-9 if isinstance(measure, theory.LagT) else 1e-4
    np.testing.assert_allclose(x, theory.project(measure, u, order), atol=tolerance)


@pytest.mark.parametrize("order", [0, -2, 7, 1])
@pytest.mark.parametrize(
    "measure", [theory.Fractional(0.5), theory.LegS(), theory.LegT()], ids=repr
)
def test_odd_or_non_positive_order_raises(measure, order):
    with pytest.raises(ValueError, match=r"^order must be"):
        theory.operator(measure, order)
