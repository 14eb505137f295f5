"""Properties of all baselines: padding, tasks, training, serialization."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import fractal
from fractal.baselines import DSS, LMU, S4, S4D, S5, Attention, Performer, TransformerBlock
from fractal.nn import SequenceModel
from mixers import signal
from optimizers import apply_gradient

MIXERS = {
    "s5": functools.partial(S5, order=8, blocks=2),
    "s4": functools.partial(S4, order=4, length=32),
    "s4d": functools.partial(S4D, order=4),
    "dss": functools.partial(DSS, order=4),
    "dss softmax": functools.partial(DSS, order=4, kernel="softmax"),
    "lmu": functools.partial(LMU, order=4, memories=2, window=10),
}
ATTENTION = {
    "transformer": functools.partial(Attention, heads=2),
    "performer": functools.partial(Performer, heads=2, count=8),
}
CAUSAL = {name: make for name, make in MIXERS.items() if name != "dss softmax"} | {
    name: functools.partial(make, causal=True) for name, make in ATTENTION.items()
}
BIDIRECTIONAL = {
    name: functools.partial(make, bidirectional=True) for name, make in MIXERS.items()
} | ATTENTION


def slow_except(makers, *fast):
    """Test parameters for all names, marked slow except for `fast`."""
    return [pytest.param(name, marks=() if name in fast else pytest.mark.slow) for name in makers]


def model(name, makers, gate=None, norm=None, **options):
    """A model; `gate` and `norm` are those of blocks other than the transformer's."""
    if name in ATTENTION:
        block = functools.partial(TransformerBlock, attention=makers[name], mlp=8)
        options = {"block": block, "positions": "sinusoid"} | options
    else:
        options = {"mixer": makers[name], "gate": gate, "norm": norm} | options
    return SequenceModel(7, 3, width=6, depth=1, key=jax.random.key(0), **options)


@pytest.mark.parametrize("name", slow_except(BIDIRECTIONAL, "s4", "transformer"))
def test_gradients_of_all_parameters_are_finite_and_nonzero(name):
    """Only the gradient of random features is zero."""
    m = model(name, BIDIRECTIONAL)
    x, keys = np.arange(40).reshape(2, 20) % 7, jax.random.split(jax.random.key(2))

    @jax.jit
    @jax.grad
    def gradient(m):
        train = jax.vmap(lambda x, key: m.training(x, key=key)[0], axis_name="batch")
        return jnp.mean(train(x, keys) ** 2)

    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient(m)):
        assert np.all(np.isfinite(leaf)), path
        features = name == "performer" and jax.tree_util.keystr(path).endswith(".random_features")
        assert np.any(leaf != 0) != features, path


@pytest.mark.parametrize("name", slow_except(CAUSAL, "s4", "performer"))
def test_next_token_logits_are_causal(name):
    m, x = model(name, CAUSAL, task="next-token"), jnp.arange(30) % 7
    changed = x.at[20:].set((x[20:] + 1) % 7)
    before, after = jax.jit(jax.vmap(m))(jnp.stack([x, changed]))
    np.testing.assert_allclose(before[:20], after[:20], atol=1e-5)
    assert not np.allclose(before[20:], after[20:], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", BIDIRECTIONAL)
def test_training_on_padded_retrieval_reduces_the_loss(name):
    """Whether the first tokens are equal. The loss decreases below chance, log 2."""
    m = model(name, BIDIRECTIONAL, task="retrieval", gate="half_glu1")
    tokens = jax.random.randint(jax.random.key(1), (64, 2, 12), 0, 3)
    same = (tokens[:, 0, 0] == tokens[:, 1, 0]).astype(int)
    counts = jax.random.randint(jax.random.key(3), (64, 2, 1), 4, 13)
    mask = jnp.arange(12)[None, None] < counts
    optimizer = optax.adam(1e-2)

    @jax.jit
    def update(m, opt_state):
        def loss(m):
            logits = jax.vmap(lambda x, mask: m(x, mask=mask))(tokens, mask)
            return optax.softmax_cross_entropy_with_integer_labels(logits, same).mean()

        value, gradient = jax.value_and_grad(loss)(m)
        return *apply_gradient(optimizer, gradient, opt_state, m), value

    opt_state = optimizer.init(m)
    for _ in range(300):
        m, opt_state, value = update(m, opt_state)
    assert value < 0.45


@pytest.mark.parametrize("name", slow_except(BIDIRECTIONAL, "s4", "transformer"))
def test_padding_does_not_change_earlier_outputs(name):
    """The softmax kernel of DSS depends on the padded length, but not on values at padding."""
    mixer, u = BIDIRECTIONAL[name](6, key=jax.random.key(0)), signal(20, 6)
    run = jax.jit(lambda mixer, u, mask=None: mixer(u, mask=mask)[0])
    mask = np.arange(27) < 20
    garbage = np.where(np.arange(7)[:, None] == 3, np.nan, 1e3)
    y = run(mixer, np.concatenate([u, garbage * np.ones((7, 6))]), mask)[:20]
    if name == "dss softmax":
        expected = run(mixer, np.concatenate([u, np.zeros((7, 6))]), mask)[:20]
    else:
        expected = run(mixer, u)
    np.testing.assert_allclose(y, expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({"pooling": "last"}, (3,)),
        ({"task": "regression", "tokens": False}, (3,)),
        ({"pooling": "none", "dtype": "bfloat16", "norm": "batch"}, (20, 3)),
    ],
)
def test_outputs_have_the_shape_of_the_task(name, options, shape):
    m = model(name, CAUSAL, **options)
    x = signal(20, 7) if options.get("tokens") is False else jnp.arange(20) % 7
    output = jax.jit(lambda m, x: m(x))(m, x)
    assert output.shape == shape
    assert np.all(np.isfinite(output))


@pytest.mark.parametrize("name", BIDIRECTIONAL)
def test_save_and_load_restore_a_baseline(tmp_path, name):
    m = model(name, BIDIRECTIONAL, final_norm=True)
    fractal.save(tmp_path / "model.safetensors", m)
    loaded = fractal.load(tmp_path / "model.safetensors")
    assert jax.tree.structure(loaded) == jax.tree.structure(m)
    for one, two in zip(jax.tree.leaves(loaded), jax.tree.leaves(m), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", ["s5", "s4", "lmu", "transformer", "performer"])
def test_save_and_load_restore_a_state(tmp_path, name):
    state = model(name, CAUSAL).initial_state()
    fractal.save(tmp_path / "state.safetensors", state)
    assert jax.tree.structure(fractal.load(tmp_path / "state.safetensors")) == jax.tree.structure(
        state
    )


@pytest.mark.parametrize("name", [name for name in BIDIRECTIONAL if name not in ATTENTION])
def test_bidirectional_mixers_have_no_step_or_state(name):
    mixer = BIDIRECTIONAL[name](6, key=jax.random.key(0))
    state = CAUSAL[name.split()[0]](6, key=jax.random.key(0)).initial_state()
    for call in (lambda: mixer.step(jnp.zeros(6), state), lambda: mixer(jnp.zeros((5, 6)), state)):
        with pytest.raises(ValueError, match=r"whole sequence|length of the sequence"):
            call()
