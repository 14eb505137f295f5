import numpy as np
import pytest

from fractal import theory

# theory.md §4: κ(V) of the fractional operator, unit columns, 2-norm.
KAPPA = {
    8: {0.2: 26, 0.4: 21, 0.6: 25, 0.8: 43, 0.9: 76},
    16: {0.2: 78, 0.4: 71, 0.6: 99, 0.8: 200, 0.9: 410},
    32: {0.2: 210, 0.4: 220, 0.6: 350, 0.8: 860, 0.9: 1.9e3},
    64: {0.2: 530, 0.4: 630, 0.6: 1.2e3, 0.8: 3.4e3, 0.9: 8.3e3},
}


@pytest.mark.parametrize(("order", "row"), KAPPA.items())
def test_condition_of_the_fractional_operator_is_as_derived(order, row):
    for alpha, expected in row.items():
        op = theory.operator(theory.Fractional(alpha), order)
        assert theory.diagonalize(op).condition == pytest.approx(expected, rel=0.05)


# The same section: the published operator, Frobenius norm, from 200 digits.
PUBLISHED_KAPPA = {
    8: {0.0: 8.2e4, 0.2: 1.0e5, 0.4: 1.3e5, 0.6: 1.8e5, 0.8: 2.9e5, 0.9: 4.5e5},
    16: {0.0: 8.9e10, 0.2: 1.2e11, 0.4: 1.6e11, 0.6: 2.4e11, 0.8: 4.3e11, 0.9: 6.8e11},
    32: {0.0: 1.3e23, 0.2: 1.9e23, 0.4: 2.8e23, 0.6: 4.4e23, 0.8: 8.3e23, 0.9: 1.4e24},
    64: {0.0: 3.4e47, 0.2: 5.2e47, 0.4: 8.3e47, 0.6: 1.4e48, 0.8: 2.9e48, 0.9: 4.9e48},
}


@pytest.mark.parametrize(("order", "row"), PUBLISHED_KAPPA.items())
def test_condition_of_the_published_operator_is_as_derived(order, row):
    for alpha, expected in row.items():
        assert theory.published_spectrum(alpha, order).condition == pytest.approx(
            expected, rel=0.05
        )


@pytest.mark.parametrize(("alpha", "expected"), [(0.01, 5.1e3), (0.05, 1.2e3), (0.1, 7.2e2)])
def test_condition_of_the_fractional_operator_at_small_alpha(alpha, expected):
    op = theory.operator(theory.Fractional(alpha), 64)
    assert theory.diagonalize(op).condition == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(("order", "tolerance"), [(8, 1e-12), (64, 4e-12), (256, 1e-10)])
@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_decomposition_reproduces_the_operator(order, tolerance, alpha):
    op = theory.operator(theory.Fractional(alpha), order)
    spectrum = theory.diagonalize(op)
    rebuilt = spectrum.V * spectrum.eigenvalues @ spectrum.V_inv
    assert np.abs(rebuilt - op.A).max() <= tolerance * np.abs(op.A).max()
    np.testing.assert_allclose(np.linalg.norm(spectrum.V, axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("order", [4, 16, 64, 128])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 0.94])
def test_exactly_two_eigenvalues_are_real(order, alpha):
    spectrum = theory.diagonalize(theory.operator(theory.Fractional(alpha), order))
    assert np.sum(spectrum.eigenvalues.imag == 0) == 2


@pytest.mark.parametrize(
    "op",
    [
        theory.operator(theory.LegS(), 16),
        theory.operator(theory.LagT(), 8),
        theory.published_operator(0.5, 16),
        theory.published_operator(0.9, 64),
    ],
    ids=["LegS", "LagT", "published-16", "published-64"],
)
def test_ill_conditioned_operators_raise_an_error_that_names_alternatives(op):
    with pytest.raises(theory.IllConditioned, match=r"κ\(V\).*Use operator\(Fractional"):
        theory.diagonalize(op)


def test_published_pair_of_order_eight_can_be_diagonalized():
    spectrum = theory.diagonalize(theory.published_operator(0.5, 8))
    np.testing.assert_allclose(spectrum.eigenvalues, np.arange(1, 9), rtol=1e-9)
    assert 1e4 < spectrum.condition < 1e6
