import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.nn import BatchNorm, Block, FractalSSM, LayerNorm


def block(gate="silu", norm="layer", dropout=0.0, width=6, **options):
    ssm = FractalSSM(width, order=4, alphas=(0.0, 0.9), key=jax.random.key(0))
    options |= {"gate": gate, "norm": norm, "dropout": dropout}
    return Block(ssm, width, **options, key=jax.random.key(1))


def dense(linear, x):
    return np.asarray(x) @ np.asarray(linear.weight).T + np.asarray(linear.bias)


@pytest.mark.parametrize("gate", ["silu", "half_glu1", "half_glu2", "full_glu"])
def test_output_equals_the_formula_of_the_gate(gate):
    b, x = block(gate), np.asarray(jax.random.normal(jax.random.key(2), (16, 6)))
    z = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    y = np.asarray(b.mixer(z)[0])
    active = np.asarray(jax.nn.gelu(y))
    sigmoid = 1 / (1 + np.exp(-dense(b.inner, active)))
    expected = (
        x
        + {
            "silu": lambda: dense(b.outer, y) * np.asarray(jax.nn.silu(dense(b.inner, z))),
            "half_glu1": lambda: active * sigmoid,
            "half_glu2": lambda: y * sigmoid,
            "full_glu": lambda: dense(b.outer, active) * sigmoid,
        }[gate]()
    )
    np.testing.assert_allclose(jax.jit(lambda b, x: b(x)[0])(b, x), expected, atol=1e-5)


def test_dropout_drops_whole_channels_and_preserves_the_mean():
    b, x = block(dropout=0.5), jnp.ones((16, 6))
    full = b(x)[0] - x
    train = jax.jit(jax.vmap(lambda key: b.training(x, key=key)[0] - x))
    dropped = train(jax.random.split(jax.random.key(0), 200))
    zeroed = np.asarray(dropped == 0)
    np.testing.assert_array_equal(zeroed.all(axis=1), zeroed.any(axis=1))
    kept = np.broadcast_to(2 * full, dropped.shape)[~zeroed]
    np.testing.assert_allclose(dropped[~zeroed], kept, rtol=1e-5)
    assert 0.4 < zeroed.mean() < 0.6
    np.testing.assert_array_equal(train(jax.random.split(jax.random.key(0), 200)), dropped)


def test_layer_norm_standardizes_each_step():
    x = 3 + 2 * jax.random.normal(jax.random.key(0), (20, 50))
    y = LayerNorm(50)(x)
    np.testing.assert_allclose(y.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(y.var(axis=1), 1, rtol=1e-3)


def test_batch_norm_statistics_include_all_steps_except_padding():
    norm = BatchNorm(3, momentum=0.9)
    rng = np.random.default_rng(0)
    x, lengths = rng.normal(2, 3, (4, 10, 3)).astype(np.float32), np.array([10, 3, 7, 1])
    mask = np.arange(10) < lengths[:, None]
    x[~mask] = 1e6
    y, running = jax.vmap(norm.training, axis_name="batch", out_axes=(0, None))(x, mask)
    kept = x[mask]
    expected = (kept - kept.mean(0)) / np.sqrt(kept.var(0) + 1e-5)
    np.testing.assert_allclose(np.asarray(y)[mask], expected, atol=1e-4)
    np.testing.assert_allclose(running.mean, 0.1 * kept.mean(0), rtol=1e-4)
    np.testing.assert_allclose(running.variance, 0.9 + 0.1 * kept.var(0), rtol=1e-4)
    np.testing.assert_allclose(norm(jnp.array(x[0])), x[0] / np.sqrt(1 + 1e-5), rtol=1e-5)


def test_a_block_passes_the_momentum_to_its_batch_norm():
    assert block(norm="batch", norm_momentum=0.8).norm.momentum == 0.8
    assert block(norm="batch").norm.momentum == 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gate": "glu"}, "gate must be one of silu, half_glu1, half_glu2, full_glu"),
        ({"norm": "group"}, "norm must be one of layer, batch"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\)"),
        ({"norm_momentum": 0.9}, "norm_momentum is for norm='batch', got norm='layer'"),
        ({"norm": "batch", "norm_momentum": 1.5}, r"momentum must lie in \[0, 1\)"),
        ({"dense_init": "glorot"}, "dense_init must be one of uniform, lecun"),
    ],
)
def test_invalid_arguments_raise_value_error(options, message):
    with pytest.raises(ValueError, match=message):
        block(**options)
