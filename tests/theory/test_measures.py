import functools

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import eval_jacobi, eval_laguerre

from fractal import theory

MEASURES = [
    theory.Fractional(0.0),
    theory.Fractional(0.5),
    theory.Fractional(0.9),
    theory.LegS(),
    theory.LagT(),
    theory.LagT(timescale=0.2),
    theory.LegT(),
    theory.LegT(window=0.3),
]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("t", [0.5, 1.0, 7.0])
def test_density_has_unit_mass(measure, t):
    # Quadrature in log age from age ε; t − x does not resolve smaller ages in floating point.
    youngest = 1e-9 * t
    alpha = getattr(measure, "alpha", 0.0)
    oldest = 60.0 if isinstance(measure, theory.LagT) else getattr(measure, "window", t)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    half = np.log(oldest / youngest) / 2
    age = np.exp(np.log(youngest) + half * (nodes + 1))
    old = half * weights @ (measure.density(t, t - age) * age)
    young = 1e-9 ** (1 - alpha) if alpha else youngest * measure.density(t, t)
    assert old + young == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_density_is_zero_in_the_future_and_before_its_support(measure):
    assert measure.density(1.0, [1.0001, 5.0]).tolist() == [0, 0]
    if isinstance(measure, theory.Fractional | theory.LegS):
        assert measure.density(1.0, -0.0001) == 0
    if isinstance(measure, theory.LegT):
        assert measure.density(1.0, 1 - measure.window - 1e-4) == 0


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("p", [1e-6, 0.1, 0.77, 1.0])
def test_recent_share_is_the_integral_of_the_density(measure, p):
    breaks = sorted({p / 100, min(p, getattr(measure, "window", p)), p})
    integral = mpmath.quad(lambda a: float(measure.density(1.0, 1.0 - float(a))), breaks)
    assert measure.recent_share(p) - measure.recent_share(p / 100) == pytest.approx(
        float(integral), rel=1e-6
    )
    assert measure.recent_share(0.0) == 0


def test_recent_share_is_a_new_array():
    p = np.array([0.1, 0.2])
    assert theory.LegS().recent_share(p) is not p
    assert isinstance(theory.LegS().recent_share(0.1), float)


def test_mass_of_the_recent_tenth_at_alpha_half_is_31_6_percent():
    assert theory.Fractional(0.5).recent_share(0.1) == pytest.approx(np.sqrt(0.1), rel=1e-15)
    assert 1 - theory.Fractional(0.5).recent_share(0.9) == pytest.approx(0.0513, abs=5e-5)


@given(alpha=st.floats(0, 0.99), scale=st.floats(1e-6, 1e6), xi=st.floats(0, 0.999))
def test_fractional_density_is_scale_invariant(alpha, scale, xi):
    m = theory.Fractional(alpha)
    assert scale * m.density(scale, scale * xi) == pytest.approx(
        float(m.density(1.0, xi)), rel=1e-9
    )


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
def test_fractional_basis_equals_scaled_jacobi_polynomials_of_scipy(alpha):
    age = np.linspace(0, 1, 41)
    basis = theory.Fractional(alpha).basis(64, age)
    for n in (0, 1, 2, 17, 63):
        expected = np.sqrt((2 * n + 1 - alpha) / (1 - alpha)) * eval_jacobi(
            n, -alpha, 0, 1 - 2 * age
        )
        np.testing.assert_allclose(basis[n], expected, rtol=1e-9, atol=1e-11 * abs(expected).max())


def test_lagt_basis_equals_laguerre_polynomials_of_scipy():
    age = np.linspace(0, 1, 11)
    basis = theory.LagT(timescale=0.1).basis(24, age)
    for n in (0, 1, 5, 23):
        np.testing.assert_allclose(basis[n], eval_laguerre(n, age / 0.1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_basis_mass_equals_mpmath_quadrature_of_the_basis(measure):
    order, ends = 8, (0.02, 0.3, 1.0)
    mass = measure.basis_mass(order, np.array(ends))
    alpha = getattr(measure, "alpha", 0.0)
    window, tau = getattr(measure, "window", None), getattr(measure, "timescale", None)
    a = mpmath.mpf(alpha)

    def laguerre(s, n):
        return mpmath.laguerre(n, 0, s) * mpmath.exp(-s)

    def jacobi(w, n):  # age = w^10 removes the singularity
        polynomial = mpmath.jacobi(n, -a, 0, 1 - 2 * w**10)
        return mpmath.sqrt((2 * n + 1 - a) * (1 - a)) * polynomial * 10 * w ** (9 - 10 * a)

    with mpmath.workdps(30):
        for n in (0, 1, 2, 7):
            for column, end in enumerate(mpmath.mpf(end) for end in ends):
                if tau is not None:
                    expected = mpmath.quad(functools.partial(laguerre, n=n), [0, end / tau])
                else:
                    stop = min(end / (window or 1), mpmath.mpf(1)) ** mpmath.mpf("0.1")
                    expected = mpmath.quad(functools.partial(jacobi, n=n), [0, stop])
                assert mass[n, column] == pytest.approx(float(expected), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: theory.Fractional(1.0), "alpha"),
        (lambda: theory.Fractional(-0.1), "alpha"),
        (lambda: theory.Fractional(float("nan")), "alpha"),
        (lambda: theory.LegT(window=0.0), "window"),
        (lambda: theory.LagT(timescale=-1.0), "timescale"),
        (lambda: theory.LegT(window=float("nan")), "window"),
        (lambda: theory.LegS().density(0.0, 0.5), "t "),
        (lambda: theory.LegS().density(1.0, ["0.5"]), "x "),
        (lambda: theory.LegS().density(1.0, np.array(["2020-01-01"], "M8[D]")), "x "),
        (lambda: theory.LegS().basis(4, [-0.1]), "ages"),
        (lambda: theory.LegS().basis_mass(0, [0.1]), "order"),
        (lambda: theory.LegS().density(1.0, [float("nan")]), "x "),
        (lambda: theory.LegS().recent_share(1.2), "p "),
    ],
)
def test_invalid_arguments_raise_value_error_in_one_line(call, named):
    with pytest.raises(ValueError, match=f"^{named}") as caught:
        call()
    assert "\n" not in str(caught.value)
