import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.baselines import Attention, Performer
from fractal.baselines._features import favor_exponents, orthogonal_rows
from mixers import signal, streamed


def layer(width=6, heads=2, **options):
    return Performer(width, heads=heads, **{"count": 8, "key": jax.random.key(0)} | options)


def explicit(performer, u, mask):
    """All weights of all heads as products of features, in double precision."""
    u = np.asarray(u, float)
    queries, keys, values = np.einsum("phdw,tw->phtd", np.asarray(performer.projections, float), u)
    if performer.random_features is None:
        queries, keys = (np.maximum(x, 0) + 1e-3 for x in (queries, keys))
        fade = 1.0
    else:
        W = np.asarray(performer.random_features, float)
        queries, keys = (x / x.shape[-1] ** 0.25 for x in (queries, keys))
        queries, keys = (x @ W.T - np.sum(x**2, -1, keepdims=True) / 2 for x in (queries, keys))
        largest = np.where(mask, keys.max(axis=-1), -np.inf)
        c = np.maximum.accumulate(largest, axis=1) if performer.causal else largest.max(1)[:, None]
        c = np.broadcast_to(c, largest.shape)
        queries = np.exp(queries - queries.max(axis=-1, keepdims=True)) + 1e-6
        keys = np.exp(keys - c[..., None]) + 1e-6
        fade = np.exp(c[:, None, :] - c[:, :, None])
    weights = np.einsum("htm,hsm->hts", queries, keys) * fade
    weights = weights * mask * (np.tri(len(u)) if performer.causal else 1)
    read = np.einsum("hts,hsd->htd", weights / weights.sum(axis=-1, keepdims=True), values)
    return np.einsum("whd,htd->tw", np.asarray(performer.out, float), read)


@pytest.mark.parametrize(
    ("features", "causal"),
    [
        ("favor", False),
        ("favor", True),
        ("relu", False),
        pytest.param("relu", True, marks=pytest.mark.slow),
    ],
)
def test_outputs_equal_the_explicit_quadratic_formula(features, causal):
    performer, u = layer(features=features, causal=causal), signal(150, 6)
    mask = np.random.default_rng(0).uniform(size=150) < 0.8
    mask[0] = True
    y, _ = performer(u, mask=mask)
    np.testing.assert_allclose(y[mask], explicit(performer, u, mask)[mask], atol=1e-5)


def test_random_features_estimate_the_softmax_kernel_without_bias():
    """The mean over many samples lies within four standard errors of exp(q·k/√d)."""
    queries, keys = 0.6 * signal(6, 4), 0.6 * signal(5, 4, seed=2)

    @jax.jit
    @jax.vmap
    def estimate(key):
        W = orthogonal_rows(key, 6, 4)  # one and a half blocks
        q, k = (jnp.exp(favor_exponents(W, x)) for x in (queries, keys))
        return q @ k.T / 6

    samples = np.asarray(estimate(jax.random.split(jax.random.key(0), 40_000)), float)
    expected = np.exp(np.asarray(queries @ keys.T, float) / 2)
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert np.all(np.abs(samples.mean(axis=0) - expected) < 4 * error)
    assert np.all(error < 0.02 * expected)


def test_rows_are_orthogonal_within_blocks_with_gaussian_norms():
    W = np.asarray(jax.vmap(lambda key: orthogonal_rows(key, 12, 8))(
        jax.random.split(jax.random.key(0), 500)
    ))  # fmt: skip
    products = np.einsum("kid,kjd->kij", W[:, :8], W[:, :8])
    np.testing.assert_allclose(products * (1 - np.eye(8)), 0, atol=1e-4)
    squares = np.sum(W**2, axis=-1)  # chi-square: mean d, variance 2d
    np.testing.assert_allclose([squares.mean(), squares.var()], [8, 16], rtol=0.1)
    np.testing.assert_allclose(W.mean(axis=0), 0, atol=0.25)


def test_error_decreases_as_the_square_root_of_the_number_of_features():
    """The first 32 of 512 rows have the distribution of 32 rows."""
    performer, u = layer(), 0.4 * signal(50, 6)
    attention = eqx.tree_at(
        lambda a: (a.projections, a.out), Attention(6, heads=2, key=jax.random.key(0)),
        (performer.projections, performer.out),
    )  # fmt: skip

    @jax.jit
    def root_mean_square_errors(keys):
        exact = attention(u)[0]

        def squares(key):
            W = orthogonal_rows(key, 512, 3)
            samples = [
                eqx.tree_at(lambda p: p.random_features, performer, W[:count])
                for count in (32, 512)
            ]
            return jnp.stack([jnp.mean((p(u)[0] - exact) ** 2) for p in samples])

        return jnp.sqrt(jax.vmap(squares)(keys).mean(axis=0)), jnp.abs(exact).max()

    (few, many), largest = root_mean_square_errors(jax.random.split(jax.random.key(1), 30))
    assert many < 0.05 * largest
    assert 2.5 < few / many < 6.5


@pytest.mark.parametrize("features", ["favor", "relu"])
def test_steps_and_resumed_calls_equal_one_call(features):
    performer, u = layer(causal=True, features=features), signal(90, 6)
    y, final, steps, last, chunks = streamed(performer, u, 40)
    for other in (steps, chunks):
        np.testing.assert_allclose(other, y, atol=1e-5)
    np.testing.assert_allclose(last.sums, final.sums, rtol=1e-3, atol=1e-5)


def test_features_are_not_trained():
    performer = layer()
    gradient = jax.grad(lambda p: jnp.sum(p(signal(9, 6))[0] ** 2))(performer)
    np.testing.assert_array_equal(gradient.random_features, 0)
    assert np.abs(gradient.projections).min() > 0
    assert layer(features="relu").random_features is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(features="cosine"), "features must be one of favor, relu"),
        (lambda: layer(count=0), "count must be an integer of at least 1"),
        (lambda: layer()(jnp.zeros((5, 6)), dt=1.0), "dt must be None"),
        (lambda: layer().initial_state(), "use causal=True"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
