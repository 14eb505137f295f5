"""What all baselines have in common: padding, tasks, training, files."""

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
BOTH_WAYS = {
    name: functools.partial(make, bidirectional=True) for name, make in MIXERS.items()
} | ATTENTION


def model(name, makers, **options):
    if name in ATTENTION:
        block = functools.partial(TransformerBlock, attention=makers[name], mlp=8)
        options = {"block": block, "positions": "sinusoid"} | options
    else:
        options = {"mixer": makers[name]} | options
    return SequenceModel(7, 3, 6, 1, key=jax.random.key(0), **options)


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_training_reaches_every_parameter(name):
    """A batch of pairs of documents, one step of plain optax; gradients are finite."""
    m = model(name, BOTH_WAYS, task="retrieval")
    x = jax.random.randint(jax.random.key(1), (4, 2, 20), 0, 7)
    optimiser = optax.adam(1e-2)

    @jax.jit
    def update(m, moments):
        def loss(m):
            keys = jax.random.split(jax.random.key(2), 4)
            answers, _ = jax.vmap(
                lambda x, key: m.training(x, key=key),
                axis_name="batch", out_axes=(0, None),
            )(x, keys)  # fmt: skip
            return jnp.mean(answers**2)

        value, gradient = jax.value_and_grad(loss)(m)
        updates, moments = optimiser.update(gradient, moments)
        return optax.apply_updates(m, updates), value, gradient

    _, value, gradient = update(m, optimiser.init(m))
    assert np.isfinite(value)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        assert np.all(np.isfinite(leaf)), path
        assert np.any(leaf != 0) == (jax.tree_util.keystr(path)[-2:] != ".W" or "dss" in name), path


@pytest.mark.parametrize("name", CAUSAL)
def test_next_token_logits_do_not_see_the_future(name):
    m, x = model(name, CAUSAL, task="next-token"), jnp.arange(30) % 7
    changed = x.at[20:].set((x[20:] + 1) % 7)
    before, after = jax.jit(jax.vmap(m))(jnp.stack([x, changed]))
    np.testing.assert_allclose(before[:20], after[:20], atol=1e-5)
    assert not np.allclose(before[20:], after[20:], atol=1e-3)


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_padding_changes_nothing_before_it(name):
    """The softmax kernel of DSS spans the padded length: only values must not matter there."""
    mixer, u = BOTH_WAYS[name](6, key=jax.random.key(0)), signal(20, 6)
    run = jax.jit(lambda mixer, u, mask=None: mixer(u, None, None, mask)[0])
    mask, nothing = jnp.arange(27) < 20, jnp.zeros((7, 6))
    garbage = (1e3 * signal(7, 6, seed=5)).at[3].set(jnp.nan)
    y = run(mixer, jnp.concatenate([u, garbage]), mask)[:20]
    expected = (
        run(mixer, jnp.concatenate([u, nothing]), mask)[:20]
        if name == "dss softmax"
        else run(mixer, u)
    )
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
def test_answers_have_the_shape_of_their_task(name, options, shape):
    m = model(name, CAUSAL, **options)
    x = signal(20, 7) if options.get("tokens") is False else jnp.arange(20) % 7
    answer = jax.jit(m)(x)
    assert answer.shape == shape
    assert np.all(np.isfinite(answer))


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_a_baseline_comes_back_from_its_file(tmp_path, name):
    m = model(name, BOTH_WAYS, final_norm=True)
    fractal.save(tmp_path / "model.safetensors", m)
    loaded = fractal.load(tmp_path / "model.safetensors")
    assert jax.tree.structure(loaded) == jax.tree.structure(m)
    for one, two in zip(jax.tree.leaves(loaded), jax.tree.leaves(m), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_state_comes_back_from_its_file(tmp_path, name):
    state = model(name, CAUSAL).initial_state()
    fractal.save(tmp_path / "state.safetensors", state)
    assert jax.tree.structure(fractal.load(tmp_path / "state.safetensors")) == jax.tree.structure(
        state
    )


@pytest.mark.parametrize("name", [name for name in BOTH_WAYS if name not in ATTENTION])
def test_both_directions_need_the_whole_sequence(name):
    mixer = BOTH_WAYS[name](6, key=jax.random.key(0))
    state = CAUSAL[name.split()[0]](6, key=jax.random.key(0)).initial_state()
    for call in (lambda: mixer.step(jnp.zeros(6), state), lambda: mixer(jnp.zeros((5, 6)), state)):
        with pytest.raises(ValueError, match=r"whole sequence|length of the sequence"):
            call()
