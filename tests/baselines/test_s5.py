import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.baselines import S5
from fractal.baselines._legs import normal_legs
from fractal.baselines._parameters import log_steps
from mixers import signal, streamed


def layer(width=3, order=16, blocks=2, **options):
    return S5(width, order=order, blocks=blocks, **{"key": jax.random.key(0)} | options)


def published(ssm, u, dt=1.0, mask=None, clip=False):
    """The published formulas, as a loop in complex128."""
    real = np.asarray(ssm.Lambda_re, float)
    eigenvalues = (np.minimum(real, -1e-4) if clip else real) + 1j * np.asarray(ssm.Lambda_im)
    B, C = (np.asarray(x, float) for x in (ssm.B, ssm.C))
    B, C = B[..., 0] + 1j * B[..., 1], C[..., 0] + 1j * C[..., 1]
    u, D = np.asarray(u, float), np.asarray(ssm.D, float)
    delta = np.exp(np.asarray(ssm.log_step, float)[:, 0])

    def states(order):
        x, kept = np.zeros(len(eigenvalues), complex), {}
        for k in order:
            step = delta * np.broadcast_to(dt, len(u))[k]
            if ssm.discretization == "zoh":
                gate = np.exp(eigenvalues * step)
                gain = (gate - 1) / eigenvalues
            else:
                below = 1 / (1 - step * eigenvalues / 2)
                gate, gain = below * (1 + step * eigenvalues / 2), below * step
            if mask is None or mask[k]:
                x = gate * x + gain * (B @ u[k])
            kept[k] = x
        return np.stack([kept[k] for k in range(len(u))])

    x = states(range(len(u)))
    if ssm.bidirectional:
        x = np.concatenate([x, states(range(len(u) - 1, -1, -1))], axis=1)
    return 2 * (x @ C.T).real + D * u


@pytest.mark.parametrize(
    ("options", "irregular"),
    [
        ({"bidirectional": True, "C_init": "trunc"}, False),
        ({"discretization": "bilinear", "C_init": "complex_normal", "clip_eigs": True}, True),
        pytest.param({"bidirectional": True}, True, marks=pytest.mark.slow),
        pytest.param({"discretization": "bilinear"}, False, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("x64", "tolerance"), [(False, 1e-5), pytest.param(True, 1e-12, marks=pytest.mark.slow)]
)
def test_outputs_equal_the_published_formulas_in_a_loop(options, irregular, x64, tolerance):
    with jax.enable_x64(x64):
        ssm, u, rng = layer(**options), signal(70, 3), np.random.default_rng(0)
        if options.get("clip_eigs"):
            ssm = eqx.tree_at(lambda s: s.Lambda_re, ssm, ssm.Lambda_re.at[2].set(0.3))
        dt = rng.uniform(0.1, 2, 70) if irregular else None
        mask = rng.uniform(size=70) < 0.7 if irregular else None
        expected = published(ssm, u, 1.0 if dt is None else dt, mask, clip="clip_eigs" in options)
        counted = slice(None) if mask is None else mask
        y, _ = ssm(u, dt=dt, mask=mask)
        np.testing.assert_allclose(y[counted], expected[counted], atol=tolerance)


def test_initial_eigenvalues_are_blocks_of_the_normal_part_of_legs():
    """Largest and smallest frequencies at the published orders."""
    for order, fastest, slowest in [(2, 0.866, 0.866), (16, 80.97, 0.352), (64, 1303.3, 0.264)]:
        eigenvalues = normal_legs(order).eigenvalues
        np.testing.assert_allclose(eigenvalues.real, -0.5)
        np.testing.assert_allclose(eigenvalues.imag[[0, -1]], [-fastest, -slowest], rtol=3e-3)
        assert np.all(np.diff(eigenvalues.imag) > 0)
    ssm = layer(order=16, blocks=2)
    one = normal_legs(8).eigenvalues
    np.testing.assert_allclose(ssm.Lambda_im, np.tile(one.imag, 2), rtol=1e-6)


@pytest.mark.parametrize(
    ("C_init", "variance"),
    [
        ("lecun", 2 / (64 * 50)),
        pytest.param("trunc", 2 / 64, marks=pytest.mark.slow),
        pytest.param("complex_normal", 1.0, marks=pytest.mark.slow),
    ],
)
def test_initial_parameters_have_the_published_variances(C_init, variance):
    """V* V = I on the stored half: multiplication by V preserves the variance of complex noise."""
    ssm = S5(50, order=64, blocks=4, C_init=C_init, key=jax.random.key(0))
    np.testing.assert_allclose(np.mean(np.sum(ssm.C**2, axis=-1)), variance, rtol=0.1)
    np.testing.assert_allclose(np.mean(np.sum(ssm.B**2, axis=-1)), 1 / 64, rtol=0.1)
    # The initializer of JAX, for the shapes that the published code passes to it.
    lecun = jax.nn.initializers.lecun_normal()
    samples = lecun(jax.random.key(0), (64, 50))
    np.testing.assert_allclose(np.var(samples), 1 / 64, rtol=0.05)
    if C_init != "complex_normal":
        shape = (50, 64, 2) if C_init == "lecun" else (1, 64, 2)
        keys = jax.random.split(jax.random.key(0), 20)
        samples = jax.vmap(lambda key: lecun(key, shape))(keys)
        np.testing.assert_allclose(2 * np.var(samples), variance, rtol=0.1)


def test_initial_step_sizes_are_log_uniform_with_one_per_mode():
    steps = layer(dt_min=1e-4, dt_max=1e-1).log_step
    assert steps.shape == (8, 1)
    assert np.log(1e-4) <= steps.min() < steps.max() <= np.log(1e-1)
    many = log_steps(jax.random.key(0), (256, 1), (1e-4, 1e-1))
    quantile = (np.asarray(many) - np.log(1e-4)) / np.log(1e3)
    assert 0 <= quantile.min() < quantile.max() <= 1
    np.testing.assert_allclose([quantile.mean(), quantile.var()], [1 / 2, 1 / 12], atol=0.04)


def test_steps_and_resumed_calls_equal_one_call():
    ssm, u = layer(), signal(40, 3)
    y, final, steps, last, chunks = streamed(ssm, u, 20)
    for other in (steps, chunks):
        np.testing.assert_allclose(other, y, atol=1e-5)
    np.testing.assert_allclose(last, final, atol=1e-5)


@pytest.mark.slow
def test_dt_two_on_half_of_the_samples_gives_the_same_states():
    """Equivalent to step_rescale of the published code, for a piecewise-constant signal."""
    ssm, u = layer(), signal(30, 3)
    fine, coarse = ssm(jnp.repeat(u, 2, axis=0)), ssm(u, dt=2.0)
    np.testing.assert_allclose(fine[1], coarse[1], atol=1e-5)
    np.testing.assert_allclose(fine[0][1::2], coarse[0], atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(order=12, blocks=4), "order must be a multiple of 2·blocks = 8"),
        (lambda: layer(C_init="zeros"), "C_init must be one of lecun, trunc, complex_normal"),
        (lambda: layer(discretization="euler"), "discretization must be one of zoh, bilinear"),
        (lambda: layer(dt_min=1), "dt_min must not exceed dt_max"),
        (lambda: layer(blocks=0), "blocks must be an integer of at least 1"),
        (lambda: layer()(jnp.zeros((5, 3)), dt=jnp.ones(4)), "dt must be a number or have shape"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lengths_and_mask_are_equivalent_for_trailing_padding(rng):
    with jax.enable_x64(True):
        ssm = S5(4, order=8, blocks=2, bidirectional=True, key=jax.random.key(0))
        u = rng.normal(size=(30, 4))
        masked, state = ssm(u, mask=np.arange(30) < 21)
        counted, other = ssm(u, None, None, 21)
        np.testing.assert_allclose(counted[:21], masked[:21], atol=1e-12)
        np.testing.assert_allclose(other, state, atol=1e-12)
