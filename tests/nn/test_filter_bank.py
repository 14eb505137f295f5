import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal._spectra import spectrum
from fractal.nn import FractalSSM, FreeBank, LearnedAlphaBank

ALPHAS = (0.02, 0.1, 0.45, 0.7, 0.93)


@pytest.mark.parametrize("init", ["normal", "fractional"])
@pytest.mark.parametrize("order", [2, 4, 16, 64])
def test_learned_alpha_bank_equals_the_spectrum_at_its_alphas(init, order):
    with jax.enable_x64(True):
        bank = LearnedAlphaBank(init, order, ALPHAS)
        np.testing.assert_allclose(bank.alphas, ALPHAS, rtol=1e-12)
        decay, frequency, gain = bank()
    blocks = [spectrum(init, alpha, order) for alpha in ALPHAS]
    rates = np.concatenate([block.rates for block in blocks])
    np.testing.assert_allclose(decay, rates.real, rtol=1e-8)
    np.testing.assert_allclose(frequency, rates.imag, rtol=1e-8)
    np.testing.assert_allclose(gain, np.concatenate([b.gains for b in blocks]), rtol=1e-8)


@pytest.mark.parametrize("init", ["normal", "fractional"])
def test_gradient_of_alpha_equals_finite_differences_of_the_eigenvalues(init):
    order, alpha, h = 16, 0.4, 1e-5
    bank = LearnedAlphaBank(init, order, [alpha])
    slope = jax.grad(lambda place: _with_place(bank, place).alphas[0])(bank.place)
    values = jax.jit(jax.jacobian(lambda place: jnp.stack(_with_place(bank, place)())))
    jacobian = values(bank.place)
    above, below = (spectrum(init, alpha + s * h, order) for s in (1, -1))
    for got, (x, y) in zip(
        jacobian[..., 0] / slope[0],
        [
            (above.rates.real, below.rates.real),
            (above.rates.imag, below.rates.imag),
            (above.gains, below.gains),
        ],
        strict=True,
    ):
        expected = (x - y) / (2 * h)
        np.testing.assert_allclose(got, expected, atol=1e-4 * max(1.0, np.abs(expected).max()))


def _with_place(bank, place):
    return eqx.tree_at(lambda bank: bank.place, bank, place)


@pytest.mark.parametrize("init", [pytest.param("normal", marks=pytest.mark.slow), "fractional"])
def test_loss_gradient_of_learned_alpha_equals_finite_differences_under_jit(init):
    with jax.enable_x64(True):
        ssm = FractalSSM(
            2, order=4, alphas=ALPHAS, init=init, learn_alpha=True, key=jax.random.key(0)
        )
        u = jax.random.normal(jax.random.key(1), (40, 2))

        @jax.jit
        def loss(place):
            moved = eqx.tree_at(lambda ssm: ssm.bank.place, ssm, place)
            return jnp.mean(moved(u)[0] ** 2)

        place, h = ssm.bank.place, 1e-5
        got = jax.jit(jax.grad(loss))(place)
        for i in range(len(place)):
            step = h * jnp.eye(len(place))[i]
            expected = (loss(place + step) - loss(place - step)) / (2 * h)
            np.testing.assert_allclose(got[i], expected, rtol=1e-4, atol=1e-9)


def test_learned_alpha_is_bounded_with_finite_gradients():
    bank = LearnedAlphaBank("normal", 4, [0.0, 0.5, 0.94])
    assert np.all((np.asarray(bank.alphas) > 0.01) & (np.asarray(bank.alphas) < 0.94))
    gradient = jax.jit(jax.grad(lambda place: jnp.sum(jnp.stack(_with_place(bank, place)()))))
    for far in (-1e3, 1e3):
        away = _with_place(bank, jnp.full(3, far))
        assert np.all((np.asarray(away.alphas) > 0.0099) & (np.asarray(away.alphas) < 0.9401))
        assert np.all(np.isfinite(gradient(away.place)))


def test_learned_alpha_with_the_published_spectrum_raises():
    with pytest.raises(ValueError, match="the same for every alpha"):
        FractalSSM(2, order=8, init="published", learn_alpha=True, key=jax.random.key(0))


def test_free_bank_is_initialized_by_the_spectra_of_its_blocks():
    blocks = [spectrum("fractional", alpha, 8) for alpha in (0.2, 0.8)]
    decay, frequency, gain = FreeBank(blocks)()
    rates = np.concatenate([block.rates for block in blocks])
    np.testing.assert_allclose(decay, rates.real, rtol=1e-6)
    np.testing.assert_allclose(frequency, rates.imag, rtol=1e-6)
    np.testing.assert_array_equal(gain, 1.0)
