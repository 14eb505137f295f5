import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fractal.nn import FractalSSM, SequenceModel
from optimizers import apply_gradient

SMALL = functools.partial(FractalSSM, order=4, alphas=(0.0, 0.9))


@pytest.fixture(autouse=True, params=["sequential", pytest.param("auto", marks=pytest.mark.slow)])
def scan(request, monkeypatch):
    """The method of the scan of `SMALL`: by default the one that compiles fastest."""
    monkeypatch.setitem(SMALL.keywords, "scan", request.param)


def model(inputs=7, outputs=3, width=8, depth=2, **options):
    if "block" not in options:
        options.setdefault("mixer", SMALL)
    return SequenceModel(
        inputs, outputs, width=width, depth=depth, key=jax.random.key(0), **options
    )


@eqx.filter_jit
def run(m, x, lengths=None, mask=None):
    return m(x, lengths=lengths, mask=mask)


@eqx.filter_jit
def train(m, x, keys, lengths=None):
    """Outputs of a batch during training, and the running averages."""
    return jax.vmap(
        lambda x, key, length: m.training(x, lengths=length, key=key),
        in_axes=(0, 0, None if lengths is None else 0),
        axis_name="batch",
        out_axes=(0, None),
    )(x, keys, lengths)


def tokens(*shape, seed=1):
    return jax.random.randint(jax.random.key(seed), shape, 0, 7)


def values(*shape, seed=1):
    return jax.random.normal(jax.random.key(seed), shape)


@pytest.mark.parametrize(
    ("options", "x", "shape"),
    [
        ({}, tokens(20), (3,)),
        ({"pooling": "last"}, tokens(20), (3,)),
        ({"pooling": "none"}, tokens(20), (20, 3)),
        ({"task": "regression", "tokens": False}, values(20, 7), (3,)),
        ({"task": "regression", "tokens": False, "pooling": "none"}, values(20, 7), (20, 3)),
        ({"task": "retrieval"}, tokens(2, 20), (3,)),
        ({"task": "next-token"}, tokens(20), (20, 3)),
    ],
)
def test_outputs_have_the_shape_of_the_task(options, x, shape):
    output = run(model(depth=1, **options), x)
    assert output.shape == shape
    assert np.all(np.isfinite(output))


@pytest.mark.parametrize("pooling", ["mean", "last", "none"])
@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
def test_streaming_equals_one_call(pooling, clock):
    m = model(mixer=functools.partial(SMALL, clock=clock), pooling=pooling, norm="batch")
    x, state = tokens(12), m.initial_state()
    whole, step = eqx.filter_jit(m), eqx.filter_jit(m.step)
    if pooling == "none":
        expected = whole(x)
    else:  # the output for each prefix, padded to one length
        prefixes = jnp.arange(12)[None] < jnp.arange(1, 13)[:, None]
        expected = jax.jit(jax.vmap(lambda mask: m(x, mask=mask)))(prefixes)
    for k in range(12):
        output, state = step(x[k], state)
        np.testing.assert_allclose(output, expected[k], atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", pytest.param("last", marks=pytest.mark.slow)])
def test_padding_does_not_change_the_output(pooling):
    m = model(mixer=functools.partial(SMALL, bidirectional=True), pooling=pooling, tokens=False)
    x, mask = values(15, 7), jnp.arange(24) < 15
    padded = jnp.concatenate([x, jnp.full((9, 7), jnp.nan)])
    expected = run(m, x)
    np.testing.assert_allclose(run(m, padded, mask=mask), expected, atol=1e-5)
    np.testing.assert_allclose(run(m, padded, lengths=jnp.int32(15)), expected, atol=1e-5)
    gradient = jax.jit(jax.grad(lambda m: jnp.sum(m(padded, mask=mask))))(m)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_with_masking_pooling_padding_passes_through_the_blocks(norm):
    """Compared with the parts of the model, applied to the padded sequence without lengths."""
    mixer = functools.partial(SMALL, bidirectional=True)
    m, x = model(masking="pooling", encoder="one-hot", norm=norm, mixer=mixer), tokens(2, 20)
    lengths = jnp.array([13, 20])

    @jax.jit
    def by_parts(m, x):
        outputs = []
        for one, length in zip(x.at[0, 13:].set(0), (13, 20), strict=True):
            h = jax.nn.one_hot(one, 7) @ m.encoder.weight + m.encoder.bias[None]
            for block in m.blocks:
                h = block(h)[0]
            outputs.append(m.head(h[:length].mean(axis=0)))
        return jnp.stack(outputs)

    expected = by_parts(m, x)
    batch = jax.jit(lambda m, x, lengths: jax.vmap(m)(x, lengths=lengths))
    np.testing.assert_allclose(batch(m, x, lengths), expected, atol=1e-5)
    all_masked = model(masking="all", encoder="one-hot", norm=norm, mixer=mixer)
    assert not np.allclose(batch(all_masked, x, lengths)[0], expected[0], atol=1e-3)


def test_with_masking_pooling_batch_statistics_include_padding():
    m = model(depth=1, masking="pooling", norm="batch", norm_momentum=0.9)
    x, keys = tokens(3, 10).at[:, 6:].set(0), jax.random.split(jax.random.key(0), 3)
    _, (found,) = train(m, x, keys, jnp.full(3, 6))
    encoded = np.asarray(m.encoder.weight)[np.asarray(x)].reshape(30, -1)
    np.testing.assert_allclose(found.mean, 0.1 * encoded.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.variance, 0.9 + 0.1 * encoded.var(axis=0), atol=1e-6)


def test_a_stream_of_one_hot_tokens_equals_one_call():
    m, x = model(encoder="one-hot"), tokens(6)
    state, step = m.initial_state(), eqx.filter_jit(m.step)
    for token in x:
        y, state = step(token, state)
    np.testing.assert_allclose(y, run(m, x), atol=1e-5)


@pytest.mark.parametrize("tokens", [False, True])
def test_lecun_layers_have_variance_1_over_inputs_and_no_bias(tokens):
    encoder = "one-hot" if tokens else None
    m = model(50, 40, 60, depth=1, tokens=tokens, encoder=encoder, dense_init="lecun")
    weights = [m.encoder.weight.T if tokens else m.encoder.weight, m.head.weight]
    layers = [m.encoder, m.head, m.blocks[0].inner, m.blocks[0].outer]
    for weight in [*weights, m.blocks[0].inner.weight, m.blocks[0].outer.weight]:
        scaled = np.asarray(weight) * np.sqrt(weight.shape[1])
        assert abs(scaled.std() - 1) < 5 / np.sqrt(2 * scaled.size)
    assert all(np.all(np.asarray(layer.bias) == 0) for layer in layers)


def test_next_token_logits_are_causal():
    m, x = model(outputs=7, task="next-token"), tokens(30)
    changed = x.at[20:].set((x[20:] + 1) % 7)
    before, after = run(m, x), run(m, changed)
    np.testing.assert_allclose(before[:20], after[:20], atol=1e-6)
    assert not np.allclose(before[20:], after[20:])


def test_retrieval_ignores_the_padding_of_each_document():
    m = model(task="retrieval")
    x, lengths = tokens(2, 18), np.array([18, 7])
    mask = np.arange(18) < lengths[:, None]
    garbage = x.at[1, 7:].set(5)
    expected = run(m, x, mask=mask)
    np.testing.assert_allclose(run(m, garbage, mask=mask), expected, atol=1e-5)
    assert not np.allclose(run(m, x[::-1], mask=mask[::-1]), expected)
    np.testing.assert_allclose(run(m, garbage, lengths=lengths), expected, atol=1e-5)


def test_running_averages_converge_to_batch_statistics():
    m = model(tokens=False, norm="batch", depth=1)
    x = 5 + 2 * values(16, 10, 7)
    keys = jax.random.split(jax.random.key(0), 16)
    for _ in range(200):
        outputs, statistics = train(m, x, keys)
        m = m.with_statistics(statistics)
    np.testing.assert_allclose(jax.jit(jax.vmap(m))(x), outputs, atol=1e-2)


def test_retrieval_batch_statistics_include_both_documents():
    m = model(tokens=False, norm="batch", depth=1, task="retrieval")
    x = values(4, 2, 10, 7)
    keys = jax.random.split(jax.random.key(0), 4)
    _, (statistics,) = train(m, x, keys)
    h = x.reshape(-1, 7) @ m.encoder.weight.T + m.encoder.bias[None]
    np.testing.assert_allclose(statistics.mean, 0.05 * h.mean(0), atol=1e-6)


@pytest.mark.parametrize("norm", [pytest.param("layer", marks=pytest.mark.slow), "batch"])
def test_remat_changes_the_memory_and_not_the_gradient(norm):
    """With remat the gradient keeps nothing of a block but its input."""
    x, keys = values(2, 64, 7), jax.random.split(jax.random.key(0), 2)

    def loss(m):
        return jnp.sum(train(m, x, keys)[0] ** 2)

    plain, remat = (
        model(tokens=False, norm=norm, dropout=0.5, remat=remat) for remat in (False, True)
    )
    assert kept_by(loss, remat) < kept_by(loss, plain) / 2
    expected, found = (jax.jit(jax.grad(loss))(m) for m in (plain, remat))
    for one, other in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def kept_by(loss, m):
    """Number of values that reverse mode keeps between the two passes."""
    return sum(
        leaf.size for leaf in jax.tree.leaves(jax.eval_shape(lambda m: jax.vjp(loss, m)[1], m))
    )


class Doubling(eqx.Module):
    """A minimal block, without a norm or parameters."""

    mixer: FractalSSM

    def __init__(self, width, *, key):
        self.mixer = SMALL(width, key=key)

    def __call__(self, x, state=None, dt=None, lengths=None, mask=None):
        return 2 * x, state

    def training(self, x, dt=None, lengths=None, mask=None, axes=(), *, key):
        return 2 * x, None

    def step(self, x, state, dt=None):
        return 2 * x, state


def test_a_custom_block_replaces_the_default():
    m, x = model(block=Doubling, tokens=False), values(9, 7)
    pooled = 4 * (x @ m.encoder.weight.T + m.encoder.bias[None]).mean(axis=0)
    expected = m.head.weight @ pooled + m.head.bias
    np.testing.assert_allclose(m(x), expected, atol=1e-5)
    output, statistics = m.training(x, key=jax.random.key(0))
    np.testing.assert_allclose(output, expected, atol=1e-5)
    assert m.with_statistics(statistics) is m
    state = m.initial_state()
    for sample in x:
        output, state = m.step(sample, state)
    np.testing.assert_allclose(output, expected, atol=1e-5)


def test_positions_are_sinusoids_or_a_table_added_to_the_encoded_input():
    x, positions = tokens(9), np.arange(9.0)[:, None]
    plain = model(depth=0, pooling="none")
    rates = 1e4 ** -(np.array([0, 0, 2, 2, 4, 4, 6, 6]) / 8)
    waves = np.where(np.arange(8) % 2, np.cos(positions * rates), np.sin(positions * rates))
    sinusoid = model(depth=0, pooling="none", positions="sinusoid")
    weight = np.asarray(plain.head.weight)
    np.testing.assert_allclose(sinusoid(x) - plain(x), waves @ weight.T, atol=1e-5)
    learned = model(depth=0, pooling="none", positions="learned", length=12)
    np.testing.assert_allclose(learned(x) - plain(x), learned.table[:9] @ weight.T, atol=1e-5)
    assert 0.01 < np.std(learned.table) < 0.04


def test_final_norm_is_invariant_to_scale():
    m, x = model(depth=0, tokens=False, pooling="none", final_norm=True), values(9, 7)
    large = eqx.tree_at(
        lambda m: (m.encoder.weight, m.encoder.bias), m,
        (1e3 * m.encoder.weight, 1e3 * m.encoder.bias),
    )  # fmt: skip
    np.testing.assert_allclose(large(x), m(x), atol=1e-3)


@pytest.mark.parametrize(
    "dtype", [pytest.param(name, marks=pytest.mark.slow) for name in ("float32", "bfloat16")]
)
def test_training_reduces_the_loss_in_both_dtypes(dtype):
    """Binary task: whether token 3 occurs. The loss decreases below chance, log 2."""
    m = model(outputs=2, width=16, dtype=dtype, dropout=0.1)
    x = tokens(64, 12)
    y = jnp.any(x == 3, axis=1).astype(int)
    optimizer = optax.adam(1e-2)
    opt_state = optimizer.init(eqx.filter(m, eqx.is_array))

    @eqx.filter_jit
    def update(m, opt_state, key):
        def loss(m):
            keys = jax.random.split(key, len(x))
            logits, _ = jax.vmap(
                lambda x, key: m.training(x, key=key), axis_name="batch", out_axes=(0, None)
            )(x, keys)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        value, gradient = eqx.filter_value_and_grad(loss)(m)
        return *apply_gradient(optimizer, gradient, opt_state, m), value

    for i in range(60):
        m, opt_state, value = update(m, opt_state, jax.random.key(i))
    assert value < 0.3
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(eqx.filter(m, eqx.is_array)))
    assert m(x[0]).dtype == jnp.float32


@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
def test_models_export_for_cpu_cuda_and_tpu(clock):
    m = model(mixer=functools.partial(SMALL, clock=clock, learn_alpha=True), depth=1)
    platforms = ("cpu", "cuda", "tpu")
    x = jax.ShapeDtypeStruct((4, 32), jnp.int32)
    exported = jax.export.export(jax.jit(jax.vmap(m)), platforms=platforms)(x)
    assert exported.platforms == platforms
    batch = tokens(4, 32)
    loaded = jax.export.deserialize(exported.serialize())
    np.testing.assert_allclose(loaded.call(batch), jax.jit(jax.vmap(m))(batch), atol=1e-5)
    gradient = jax.grad(lambda m, x: jnp.sum(jax.vmap(m)(x)))
    jax.export.export(jax.jit(gradient), platforms=platforms)(m, x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model(task="tagging"), "task must be one of classification"),
        (lambda: model(pooling="max"), "pooling must be one of mean, last, none"),
        (lambda: model(task="next-token", pooling="mean"), "pooling must be 'none'"),
        (lambda: model(task="retrieval", pooling="none"), "pooling must be 'mean' or 'last'"),
        (lambda: model(dtype="float16"), "dtype must be one of"),
        (lambda: model(inputs=0), "inputs must be an integer of at least 1"),
        (
            lambda: model(task="next-token", mixer=functools.partial(SMALL, bidirectional=True)),
            "needs a causal mixer",
        ),
        (lambda: model()(jnp.ones(5)), "x must contain integer tokens"),
        (lambda: model(tokens=False)(jnp.ones((5, 3))), "x must have 7 channels"),
        (lambda: model()(jnp.zeros(0, int)), "at least one step"),
        (lambda: model(dtype="float64"), "jax_enable_x64"),
        (lambda: model(task="retrieval")(tokens(3, 5)), "x must contain two sequences"),
        (lambda: model(task="retrieval").initial_state(), "it has no step"),
        (lambda: model(positions="rotary"), "positions must be one of none, sinusoid, learned"),
        (lambda: model(positions="learned"), "length must be given if and only if"),
        (lambda: model(length=5), "length must be given if and only if"),
        (lambda: model(block=Doubling, gate="silu", dropout=0.0), "gate and dropout cannot be"),
        (lambda: model(block=Doubling, mixer=SMALL), "mixer cannot be given together with block"),
        (lambda: model(encoder="byte"), "encoder must be one of embedding, one-hot"),
        (lambda: model(encoder="one-hot", tokens=False), "encoder='one-hot' is for tokens"),
        (lambda: model(dense_init="glorot"), "dense_init must be one of uniform, lecun"),
        (lambda: model(masking="none"), "masking must be one of all, pooling"),
        (lambda: model(masking="pooling", pooling="none"), "masking='pooling' needs pooling="),
        (lambda: model(norm_momentum=0.9), "norm_momentum is for norm='batch'"),
        (lambda: model(block=Doubling, norm_momentum=0.9), "norm_momentum cannot be given"),
        (lambda: model()(tokens(5), lengths=6), r"lengths must lie in \[0, 5\]"),
        (lambda: model()(tokens(5), lengths=3, mask=np.ones(5, bool)), "lengths or mask, not both"),
        (lambda: model()(tokens(5), dt=-1.0), "dt must be finite and not negative"),
        (lambda: model()(tokens(5), dt=np.nan), "dt must be finite and not negative"),
        (lambda: model()(tokens(5) + 7), "x must contain tokens below 7"),
        (lambda: model(task="retrieval")(tokens(2, 5), lengths=3), "lengths must have one entry"),
        (lambda: model(positions="learned", length=5)(tokens(6)), "x must have at most 5 steps"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
