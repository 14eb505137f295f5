import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import eval_jacobi

from fractal import theory

MEASURES = [
    theory.Fractional(0.0),
    theory.Fractional(0.6),
    theory.Fractional(0.9),
    theory.LegS(),
    theory.LegT(window=0.5),
]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
def test_project_equals_adaptive_quadrature(alpha):
    u = np.random.default_rng(0).standard_normal(7)
    x = theory.project(theory.Fractional(alpha), u, 8)
    for n in (0, 1, 4, 7):
        gamma = np.sqrt((2 * n + 1 - alpha) / (1 - alpha))
        # v = age^(1−α) makes the measure uniform.
        edges = ((7 - np.arange(8)) / 7) ** (1 - alpha)
        expected = sum(
            u[k]
            * quad(
                lambda v, n=n: eval_jacobi(n, -alpha, 0, 1 - 2 * v ** (1 / (1 - alpha))),
                edges[k + 1],
                edges[k],
                epsabs=1e-13,
            )[0]
            for k in range(7)
        )
        assert x[n] == pytest.approx(gamma * expected, abs=1e-11)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@given(value=st.sampled_from([0.0, 1.0, -3.5, 1e12, 1e-12]), length=st.integers(1, 50))
def test_a_constant_is_reconstructed_exactly(measure, value, length):
    x = theory.project(measure, np.full(length, value), 16)
    ages = np.linspace(0, 0.5, 11)
    np.testing.assert_allclose(theory.recall(measure, x, ages), value, rtol=1e-10)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_residual_of_the_projection_is_orthogonal_to_the_basis(measure):
    # The residual is orthogonal to the basis: project(recall(x)) = x for a finely sampled recall.
    x = np.random.default_rng(1).standard_normal(8) / np.arange(1, 9) ** 2
    length = 200_000
    ages = 1 - (np.arange(length) + 0.5) / length
    projected = theory.project(measure, theory.recall(measure, x, ages), 8)
    np.testing.assert_allclose(projected, x, atol=2e-4)


def test_channels_are_projected_independently():
    u = np.random.default_rng(2).standard_normal((300, 3))
    measure = theory.Fractional(0.5)
    x = theory.project(measure, u, 16)
    assert x.shape == (3, 16)
    values = theory.recall(measure, x, [0.0, 0.25, 1.0])
    assert values.shape == (3, 3)
    for c in range(3):
        np.testing.assert_allclose(
            x[c], theory.project(measure, u[:, c], 16), rtol=1e-12, atol=1e-14
        )
        np.testing.assert_allclose(
            values[:, c], theory.recall(measure, x[c], [0.0, 0.25, 1.0]), rtol=1e-10
        )


def test_long_signals_are_processed_in_chunks():
    u = np.random.default_rng(3).standard_normal(40_000).cumsum()
    pooled = theory.project(theory.LegS(), u.reshape(-1, 2).mean(1).repeat(2), 8)
    np.testing.assert_allclose(theory.project(theory.LegS(), u, 8), pooled, atol=0.02)
    assert theory.project(theory.LegS(), u, 8)[0] == pytest.approx(u.mean(), rel=1e-10)


def test_legt_reconstructs_zero_outside_of_the_window():
    u = np.ones(100)
    x = theory.project(theory.LegT(window=0.3), u, 8)
    np.testing.assert_allclose(
        theory.recall(theory.LegT(window=0.3), x, [0.1, 0.29, 0.31, 0.9]), [1, 1, 0, 0], atol=1e-10
    )


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda m: theory.project(m, [1.0, float("nan")], 8), "samples"),
        (lambda m: theory.project(m, [], 8), "samples"),
        (lambda m: theory.project(m, np.ones((2, 2, 2)), 8), "samples"),
        (lambda m: theory.project(m, np.ones(3) * 1j, 8), "samples"),
        (lambda m: theory.project(m, [[1.0], [1.0, 2.0]], 8), "samples"),
        (lambda m: theory.project(m, ["1", "2"], 8), "samples"),
        (lambda m: theory.project(m, np.ones(3), 7), "order"),
        (lambda m: theory.recall(m, np.ones(8), [1.5]), "ages"),
        (lambda m: theory.recall(m, np.ones(8), [[0.5]]), "ages"),
        (lambda m: theory.recall(m, np.ones((2, 2, 8)), [0.5]), "x "),
        (lambda m: theory.recall(m, np.ones(7), [0.5]), "order"),
    ],
)
def test_invalid_arguments_raise_value_error(call, named):
    with pytest.raises(ValueError, match=f"^{named}"):
        call(theory.Fractional(0.5))
