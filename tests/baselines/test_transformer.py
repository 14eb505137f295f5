import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.baselines import Attention, Performer, TransformerBlock
from fractal.nn import SequenceModel
from mixers import signal


def block(width=6, **options):
    attention = functools.partial(Attention, heads=2)
    default = {"attention": attention, "mlp": 8, "key": jax.random.key(0)}
    return TransformerBlock(width, **default | options)


def model(attention, **options):
    make = functools.partial(
        TransformerBlock, attention=functools.partial(attention, heads=2), mlp=8
    )
    return SequenceModel(7, 3, width=6, depth=1, block=make, key=jax.random.key(0), **options)


def test_output_equals_the_pre_norm_formula():
    b, x = block(), signal(15, 6)
    outputs = jax.jit(lambda b, x: (b(x)[0], b.training(x, key=jax.random.key(0))[0]))(b, x)
    x = np.asarray(x)

    def norm(x):
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)

    x1 = x + np.asarray(b.mixer(norm(x))[0])
    hidden = norm(x1) @ np.asarray(b.W_1).T + np.asarray(b.b_1)
    expected = x1 + np.asarray(jax.nn.gelu(hidden)) @ np.asarray(b.W_2).T
    for output in outputs:
        np.testing.assert_allclose(output, expected, atol=1e-5)


def test_dropout_drops_single_elements_and_preserves_the_mean():
    b, x = block(dropout=0.5), signal(15, 6)
    b = eqx.tree_at(lambda b: b.W_2, b, jnp.zeros((6, 8)))
    keys = jax.random.split(jax.random.key(0), 100)

    @jax.jit
    def added(b):
        return b(x)[0] - x, jax.vmap(lambda key: b.training(x, key=key)[0] - x)(keys)

    full, dropped = (np.asarray(part) for part in added(b))
    zeroed = np.abs(dropped) < 1e-6
    np.testing.assert_allclose(zeroed.mean(axis=0), 0.5, atol=0.25)
    np.testing.assert_allclose(dropped[~zeroed], np.broadcast_to(2 * full, zeroed.shape)[~zeroed],
                               atol=1e-5)  # fmt: skip


@pytest.mark.parametrize(
    "positions", ["none", "sinusoid", pytest.param("learned", marks=pytest.mark.slow)]
)
def test_output_depends_on_order_only_with_positions(positions):
    length = 20 if positions == "learned" else None
    m, x = model(Attention, positions=positions, length=length), jnp.arange(14) % 7
    outputs = jax.jit(jax.vmap(m))(jnp.stack([x, x[::-1]]))
    assert np.allclose(outputs[0], outputs[1], atol=1e-5) == (positions == "none")


@pytest.mark.parametrize("positions", ["sinusoid", "learned"])
def test_streaming_equals_one_call(positions):
    length = 12 if positions == "learned" else None
    attention = functools.partial(Performer, causal=True, count=8)
    m = model(attention, task="next-token", positions=positions, length=length, final_norm=True)
    x, state, step = jnp.arange(12) % 7, m.initial_state(), jax.jit(lambda m, *a: m.step(*a))
    expected = jax.jit(lambda m, x: m(x))(m, x)
    for k in range(12):
        output, state = step(m, x[k], state)
        np.testing.assert_allclose(output, expected[k], atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: block(mlp=0), "mlp must be an integer of at least 1"),
        (lambda: block(dropout=1.0), r"dropout must lie in \[0, 1\)"),
        (lambda: model(Attention, task="next-token"), "needs a causal mixer"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
