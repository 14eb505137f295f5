import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.baselines import Attention
from mixers import signal


def layer(width=6, heads=2, **options):
    return Attention(width, heads=heads, **{"key": jax.random.key(0)} | options)


def explicit(attention, u, mask):
    """All attention weights of all heads, in double precision."""
    u = np.asarray(u, float)
    queries, keys, values = np.einsum("phdw,tw->phtd", np.asarray(attention.projections, float), u)
    size = queries.shape[-1]
    weights = np.exp(np.einsum("htd,hsd->hts", queries, keys) / np.sqrt(size))
    weights = weights * mask * (np.tri(len(u)) if attention.causal else 1)
    read = np.einsum("hts,hsd->htd", weights / weights.sum(axis=-1, keepdims=True), values)
    return np.einsum("whd,htd->tw", np.asarray(attention.out, float), read)


@pytest.mark.parametrize("causal", [False, True])
def test_outputs_equal_the_explicit_formula(causal):
    """With more queries than one batch, and with padding."""
    attention, u = layer(causal=causal, qkv=8), signal(150, 6)
    mask = np.random.default_rng(0).uniform(size=150) < 0.8
    mask[0] = True
    y, _ = attention(u, mask=mask)
    np.testing.assert_allclose(y[mask], explicit(attention, u, mask)[mask], atol=1e-5)


def test_resuming_from_cached_keys_equals_one_call():
    attention, u = layer(causal=True), signal(12, 6)
    y, final = attention(u)
    first, state = attention(u[:9])
    np.testing.assert_allclose(first, y[:9], atol=1e-6)
    for k in range(9, 12):
        y_k, state = attention.step(u[k], state)
        np.testing.assert_allclose(y_k, y[k], atol=1e-6)
    np.testing.assert_allclose(state.keys, final.keys, atol=1e-6)


def test_permuting_the_steps_permutes_the_outputs():
    attention, u = layer(), signal(20, 6)
    order = np.random.default_rng(0).permutation(20)
    np.testing.assert_allclose(attention(u[order])[0], attention(u)[0][order], atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(heads=4), "qkv must be a multiple of heads = 4, got 6"),
        (lambda: layer(heads=0), "heads must be an integer of at least 1"),
        (lambda: layer()(jnp.zeros((5, 6)), dt=1.0), "dt must be None"),
        (lambda: layer().initial_state(), "use causal=True"),
        (lambda: layer()(jnp.zeros((5, 6)), layer(causal=True).initial_state()), "causal=True"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
