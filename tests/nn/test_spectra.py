import numpy as np
import pytest
import scipy.linalg

from fractal import theory
from fractal._spectra import spectrum


def hippo_n(order):
    """The initialization of S5: LegS plus the rank-one correction, as published."""
    n = np.arange(order)
    legs = -np.tril(np.sqrt(np.outer(2 * n + 1, 2 * n + 1)), -1) - np.diag(n + 1.0)
    p = np.sqrt(n + 0.5)
    return legs + np.outer(p, p)


@pytest.mark.parametrize("order", [2, 8, 16, 64])
def test_normal_at_alpha_zero_is_hippo_n(order):
    rates = spectrum("normal", 0.0, order).rates
    expected = scipy.linalg.eigvals(hippo_n(order))
    expected = np.sort_complex(-expected[expected.imag > 0].conj())
    np.testing.assert_allclose(np.sort(rates.imag), np.sort(expected.imag), rtol=1e-9)
    np.testing.assert_allclose(rates.real, 0.5, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
def test_normal_is_the_operator_without_its_low_rank_part(alpha):
    """D⁻¹ A_frac D less −(1−α)/2 γγᵀ + cγ(γ∘e²)ᵀ, docs/theory.md §6."""
    order = 12
    op = theory.operator(theory.Fractional(alpha), order)
    n = np.arange(order)
    e = np.concatenate([[1.0], np.cumprod((n[1:] - alpha) / n[1:])])
    last = e[-1] * (order - alpha) / order
    gamma = np.sqrt((2 * n + 1 - alpha) / (1 - alpha))
    low_rank = -(1 - alpha) / 2 * np.outer(gamma, gamma)
    low_rank += (1 - alpha) / last**2 * np.outer(gamma, gamma * e**2)
    normal = op.A / e[:, None] * e - low_rank
    np.testing.assert_allclose(normal @ normal.T, normal.T @ normal, atol=1e-9)
    expected = np.linalg.eigvals(normal)
    expected = expected[expected.imag > 0]
    rates = spectrum("normal", alpha, order).rates
    np.testing.assert_allclose(
        rates[np.argsort(rates.imag)], expected[np.argsort(expected.imag)], rtol=1e-9
    )


@pytest.mark.parametrize("alpha", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("order", [2, 8, 32])
def test_fractional_modes_span_the_response_of_the_operator(alpha, order):
    """A linear combination of the modes fits the impulse response of the operator."""
    op = theory.operator(theory.Fractional(alpha), order)
    rates, gains = spectrum("fractional", alpha, order)
    assert len(rates) == order // 2 + 1
    assert np.sum(rates.imag == 0) == 2
    assert np.all(gains > 0)
    assert np.all(rates.real > 0)
    times = np.linspace(0, 3, 200)
    response = np.stack([scipy.linalg.expm(-op.A * t) @ op.B for t in times])
    modes = np.exp(-times[:, None] * rates)
    basis = np.concatenate([modes.real, modes.imag[:, rates.imag != 0]], axis=1)
    fitted = basis @ np.linalg.lstsq(basis, response, rcond=None)[0]
    assert np.abs(fitted - response).max() < 1e-6 * np.abs(response).max()


def test_fractional_blocks_below_one_hundredth_use_the_normal_form():
    low, normal = spectrum("fractional", 0.005, 8), spectrum("normal", 0.005, 8)
    np.testing.assert_array_equal(low.rates, normal.rates)


@pytest.mark.parametrize(
    ("imaginary", "added"),
    [
        (None, np.pi * np.arange(8)),
        ("lin", np.pi * np.arange(8)),
        ("inv", 8 / np.pi * (8 / (2 * np.arange(8) + 1) - 1)),
        ("none", np.zeros(8)),
    ],
)
def test_published_rates_are_one_to_n_with_an_imaginary_part(imaginary, added):
    rates = spectrum("published", 0.5, 8, imaginary).rates
    np.testing.assert_allclose(rates, np.arange(1, 9) + 1j * added)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_published_gains_solve_the_eigenvector_system_in_extended_arithmetic(alpha):
    mpmath = pytest.importorskip("mpmath")
    order = 8
    op = theory.published_operator(alpha, order)
    with mpmath.workdps(60):
        A, B = mpmath.matrix(op.A.tolist()), mpmath.matrix(op.B.tolist())
        for i in range(order):
            A[i, i] = i + 1
        columns = []
        for i in range(order):  # (A − λ) v = 0 by forward substitution
            v = [mpmath.mpf(0)] * order
            v[i] = mpmath.mpf(1)
            for row in range(i + 1, order):
                total = mpmath.fsum(A[row, k] * v[k] for k in range(i, row))
                v[row] = -total / (A[row, row] - A[i, i])
            norm = mpmath.sqrt(mpmath.fsum(x * x for x in v))
            columns.append([x / norm for x in v])
        gains = mpmath.lu_solve(mpmath.matrix(columns).T, B)
        expected = np.array([float(abs(g)) for g in gains])
    np.testing.assert_allclose(spectrum("published", alpha, order).gains, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("published", 0.5, 16), "init='fractional' supports any order"),
        (("published", 0.5, 8, "linear"), "imaginary must be one of"),
        (("normal", 0.5, 8, "lin"), "imaginary is for init='published' only"),
        (("random", 0.5, 8), "init must be one of normal, fractional, published"),
        (("normal", 0.5, 7), "order must be even"),
        (("normal", 1.0, 8), "alpha must lie in"),
        (("fractional", 0.99, 8), "alpha must lie in"),
    ],
)
def test_invalid_arguments_raise_value_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        spectrum(*arguments)
