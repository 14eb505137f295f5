import itertools

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.special

from fractal import theory
from fractal.theory._published import gauss_jacobi

# The table "Numerical verification of A(α) for N = 5" of the paper.
PRINTED = {
    0.0: [[1.00], [1.73, 2.00], [2.24, 3.87, 3.00], [2.65, 4.58, 5.92, 4.00],
          [3.00, 5.20, 6.71, 7.94, 5.00]],
    0.5: [[1.00], [2.24, 2.00], [4.00, 4.47, 3.00], [5.77, 6.45, 6.49, 4.00],
          [7.54, 8.43, 8.48, 8.50, 5.00]],
}  # fmt: skip


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def mpmath_pair(alpha: str, order: int, digits: int) -> tuple[mpmath.matrix, list]:
    """A from its definition ⟨(ξ p_n)', p_k⟩_μ with monomial coefficients and Beta functions."""
    with mpmath.workdps(digits):
        a = mpmath.mpf(alpha)
        gamma = [mpmath.sqrt((2 * n + 1 - a) / (1 - a)) for n in range(order)]
        # Coefficients of p_n in powers of ξ.
        c = [
            [
                gamma[n] * (-1) ** (n + m) * mpmath.binomial(n, m) * mpmath.rf(n + 1 - a, m)
                / mpmath.factorial(m)
                for m in range(n + 1)
            ]
            for n in range(order)
        ]  # fmt: skip
        # ⟨ξ^m, p_k⟩ by Rodrigues' formula.
        inner = [
            [
                (1 - a) * gamma[k] * mpmath.binomial(m, k) * mpmath.beta(m + 1, k + 1 - a)
                for k in range(order)
            ]
            for m in range(order)
        ]
        A = mpmath.matrix(order, order)
        for n in range(order):
            for k in range(n + 1):
                A[n, k] = mpmath.fsum((m + 1) * c[n][m] * inner[m][k] for m in range(k, n + 1))
        return A, [mpmath.fsum(row) for row in c]


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_closed_form_equals_the_table_of_the_paper_for_order_five(alpha):
    A = theory.published_operator(alpha, 6).A[:5, :5]  # lower triangular: orders are nested
    for n, row in enumerate(PRINTED[alpha]):
        for k, printed in enumerate(row):
            # One entry is misprinted in its last digit: 8.50 for sqrt(8.5 · 6.5) · 8/7 = 8.4949.
            tolerance = 0.0052 if (alpha, n, k) == (0.5, 4, 3) else 0.005
            assert abs(A[n, k] - printed) <= tolerance
    assert np.sqrt(8.5 * 6.5) * 8 / 7 == pytest.approx(theory.published_operator(0.5, 6).A[4, 3])


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_closed_form_equals_quadrature(alpha):
    closed = theory.published_operator(alpha, 16)
    quadrature = theory.published_operator(alpha, 16, method="quadrature")
    np.testing.assert_allclose(quadrature.A, closed.A, rtol=1e-11)
    np.testing.assert_allclose(quadrature.B, closed.B, rtol=1e-11)


@pytest.mark.parametrize("alpha", ["0.3", "0.99", *map(slow, ("0", "0.5", "0.9"))])
def test_closed_form_equals_the_definition_in_mpmath(alpha):
    # Monomial coefficients at N = 64 cancel about 48 of the 110 digits.
    A, B = mpmath_pair(alpha, 64, digits=110)
    op = theory.published_operator(float(alpha), 64)
    expected = np.array(A.tolist(), dtype=float)
    np.testing.assert_allclose(op.A, expected, rtol=1e-13)
    np.testing.assert_allclose(op.B, np.array(B, dtype=float), rtol=1e-13)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("points", [1, 2, 40])
def test_gauss_jacobi_rule_integrates_polynomials_exactly(alpha, points):
    eta, weight = gauss_jacobi(points, alpha)
    for m in (0, 1, 2 * points - 1):
        # ∫ ((1+η)/2)^m (1−η)^(−α) dη by the Beta function.
        expected = 2 ** (1 - alpha) * scipy.special.beta(m + 1, 1 - alpha)
        assert weight @ ((1 + eta) / 2) ** m == pytest.approx(expected, rel=1e-11)


def test_quadrature_uses_four_times_the_order_above_alpha_0_8():
    def same(alpha, points):
        default = theory.published_operator(alpha, 16, method="quadrature").A
        return np.array_equal(
            default, theory.published_operator(alpha, 16, method="quadrature", points=points).A
        )

    assert same(0.81, 64)
    assert same(0.8, 32)


@pytest.mark.parametrize("alpha", [0.3, 0.6])
def test_regularization_error_is_of_order_delta_to_the_one_minus_alpha(alpha):
    exact = theory.published_operator(alpha, 8).A
    deltas = np.array([1e-7, 1e-8])
    errors = [
        np.abs(
            theory.published_operator(alpha, 8, method="quadrature", regularization=delta).A - exact
        ).max()
        for delta in deltas
    ]
    slope = np.diff(np.log(errors)) / np.diff(np.log(deltas))
    assert slope[0] == pytest.approx(1 - alpha, abs=0.02)


@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.1, 3.0])
def test_regularized_quadrature_equals_adaptive_quadrature(delta):
    alpha, n, k = 0.6, 5, 2
    P = [scipy.special.jacobi(m, -alpha, 0) for m in (n, k)]
    gamma = [np.sqrt((2 * m + 1 - alpha) / (1 - alpha)) for m in (n, k)]

    def integral(f):
        breaks = [0.0, *delta * np.geomspace(1, 2 / delta, 12)] if delta < 1 else [0.0, 2.0]
        return sum(
            scipy.integrate.quad(lambda s: f(1 - s) * (s + delta) ** -alpha, low, high)[0]
            for low, high in itertools.pairwise(breaks)
        )

    above = integral(lambda eta: (P[0](eta) + (1 + eta) * P[0].deriv()(eta)) * P[1](eta))
    expected = gamma[0] / gamma[1] * above / integral(lambda eta: P[1](eta) ** 2)
    A = theory.published_operator(alpha, 8, method="quadrature", regularization=delta).A
    assert A[n, k] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("order", [8, 16, 32])
@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.9])
def test_published_pair_is_similar_to_legs(alpha, order):
    M = theory.to_legs(alpha, order)
    legs, published = theory.operator(theory.LegS(), order), theory.published_operator(alpha, order)
    transformed = np.linalg.solve(M.T, (M @ legs.A).T).T
    np.testing.assert_allclose(transformed, published.A, atol=1e-10 * np.abs(published.A).max())
    np.testing.assert_allclose(M @ legs.B, published.B, rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_to_legs_expresses_the_basis_in_legendre_polynomials(alpha):
    xi = np.linspace(0, 1, 33)
    eta = 2 * xi - 1
    M = theory.to_legs(alpha, 16)
    for n in (0, 1, 7, 15):
        gamma = np.sqrt((2 * n + 1 - alpha) / (1 - alpha))
        legendre = sum(
            M[n, k] * np.sqrt(2 * k + 1) * scipy.special.eval_legendre(k, eta) for k in range(16)
        )
        np.testing.assert_allclose(
            legendre, gamma * scipy.special.eval_jacobi(n, -alpha, 0, eta), atol=1e-10
        )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
def test_off_diagonal_entries_increase_with_alpha_and_with_distance_from_the_diagonal(alpha):
    low = theory.published_operator(alpha, 64).A
    high = theory.published_operator(alpha + 0.05, 64).A
    below = np.tril(np.ones((64, 64), bool), -1)
    assert (high[below] > low[below]).all()
    growth = np.where(below, high / np.where(below, low, 1), np.nan)
    for n in range(2, 64):
        assert (np.diff(growth[n, :n]) < 0).all()


@pytest.mark.parametrize("alpha", ["0", "0.2", "0.9"])
@pytest.mark.parametrize(("order", "digits"), [(8, 40), slow(64, 120)])
def test_published_spectrum_is_the_exact_eigendecomposition(alpha, order, digits):
    spectrum = theory.published_spectrum(float(alpha), order)
    A, B = mpmath_pair(alpha, order, digits)
    with mpmath.workdps(digits):
        V = mpmath.matrix(order, order)
        # Eigenvectors of a lower-triangular matrix by forward substitution.
        for m in range(order):
            V[m, m] = mpmath.mpf(1)
            for n in range(m + 1, order):
                total = mpmath.fsum(A[n, k] * V[k, m] for k in range(m, n))
                V[n, m] = total / (A[m, m] - A[n, n])
            size = mpmath.sqrt(mpmath.fsum(V[n, m] ** 2 for n in range(order)))
            for n in range(order):
                V[n, m] /= size
        inverse = V**-1
        kappa = mpmath.mnorm(V, "f") * mpmath.mnorm(inverse, "f")
        gain = inverse * mpmath.matrix(B)
    expected = np.array(V.tolist(), dtype=float)
    sign = np.sign(np.diag(spectrum.V)) * np.sign(np.diag(expected))
    np.testing.assert_allclose(spectrum.V * sign, expected, rtol=1e-11, atol=1e-300)
    assert spectrum.condition == pytest.approx(float(kappa), rel=1e-10)
    # The gain V⁻¹B is the length of each eigenvector before scaling: a sum without cancellation.
    np.testing.assert_allclose(
        spectrum.V_inv @ theory.published_operator(float(alpha), order).B * sign,
        np.array(gain.T.tolist()[0], dtype=float),
        rtol=1e-10,
    )


def test_published_spectrum_outside_of_the_float64_range_raises():
    assert 1e150 < theory.published_spectrum(0.5, 204).condition < 1e160
    with pytest.raises(ValueError, match=r"^order must be smaller"):
        theory.published_spectrum(0.5, 500)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"alpha": 1.0}, "alpha"),
        ({"order": 5}, "order"),
        ({"method": "magic"}, "method"),
        ({"points": 40}, "points"),
        ({"regularization": 1e-3}, "points and regularization"),
        ({"method": "quadrature", "points": 4}, "points"),
        ({"method": "quadrature", "regularization": -1.0}, "regularization"),
        ({"method": "quadrature", "regularization": float("nan")}, "regularization"),
    ],
)
def test_invalid_arguments_raise_value_error(arguments, named):
    with pytest.raises(ValueError, match=f"^{named}"):
        theory.published_operator(**{"alpha": 0.5, "order": 8, **arguments})
