import functools
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import fractal
from fractal.baselines import Attention, Performer, TransformerBlock
from fractal.nn import FractalSSM, SequenceModel, Streaming
from fractal.nn._positions import add_steps, sinusoids

SMALL = functools.partial(FractalSSM, order=4, alphas=(0.0, 0.5, 0.9))
FAR = 10**12  # steps


def model(**options):
    options = {"width": 6, "depth": 1, "mixer": SMALL, "key": jax.random.key(0)} | options
    return SequenceModel(5, 3, **options)


def tokens(length, seed=1):
    return jax.random.randint(jax.random.key(seed), (length,), 0, 5)


def exact(total, lost):
    return sum(Fraction(float(word)) for word in (total, *lost))


def step_number(number):
    return jnp.array([number % 2**32, number // 2**32], jnp.uint32)


def state_at(model, steps, mean=0.25):
    """A state of the model after many steps of duration 1."""
    state = model.initial_state()
    mixers = tuple(
        mixer._replace(time=jnp.asarray(steps, mixer.time.dtype), modes=mixer.modes + (0.5 - 0.2j))
        for mixer in state.mixers
    )
    total = None if state.total is None else jnp.full_like(state.total, mean * steps)
    return state._replace(mixers=mixers, steps=step_number(steps), total=total)


# The layer after many steps.


def as_float64(ssm, state):
    def convert(x):
        x = np.asarray(x)
        return jnp.asarray(x.astype(np.result_type(x.dtype, np.float64)))

    return jax.tree.map(convert, (ssm, state))


def change(before, after):
    """Change of the modes, including what rounding removed from them."""
    lost = 0 if after.modes_lost is None else np.asarray(after.modes_lost, complex).sum(axis=0)
    return np.asarray(after.modes, complex) - np.asarray(before.modes, complex) + lost


@pytest.mark.parametrize(
    ("way", "discretization"),
    [
        ("steps", "bilinear"),
        ("blocks", "zoh"),
        pytest.param("steps", "zoh", marks=pytest.mark.slow),
        pytest.param("blocks", "bilinear", marks=pytest.mark.slow),
    ],
)
def test_a_scale_invariant_stream_after_many_steps_equals_float64(way, discretization):
    ssm = SMALL(2, clock="scale-invariant", discretization=discretization, key=jax.random.key(0))
    rng = np.random.default_rng(0)
    u = rng.standard_normal((1600, 2)).astype(np.float32)
    modes = rng.standard_normal((2, sum(ssm.sizes))).astype(np.float32)
    start = ssm.initial_state()._replace(
        time=jnp.float32(1e12), modes=jax.lax.complex(*jnp.array(modes))
    )

    @jax.jit
    def stream(ssm, state, u, dt):
        def step(state, sample):
            return ssm.step(sample, state, dt)[1], None

        def block(state, samples):
            return ssm(samples, state, dt)[1], None

        if way == "steps":
            return jax.lax.scan(step, state, u)[0]
        return jax.lax.scan(block, state, u.reshape(-1, 100, 2))[0]

    for dt in (1.0, 1e3, 1e7):  # 1,600 steps change the modes by 10⁻⁹, 10⁻⁶ and 10⁻² of their value
        found = change(start, stream(ssm, start, jnp.array(u), jnp.float32(dt)))
        with jax.enable_x64(True):
            wide, wide_start = as_float64(ssm, start)
            end = stream(wide, wide_start, jnp.asarray(u, float), jnp.asarray(dt, float))
            expected = change(wide_start, end)
        np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    "clock", [pytest.param("uniform", marks=pytest.mark.slow), "scale-invariant"]
)
def test_the_gradient_by_the_start_time_equals_a_difference_quotient(clock):
    with jax.enable_x64(True):
        ssm, u = SMALL(2, clock=clock, key=jax.random.key(0)), jnp.ones((9, 2))
        start = ssm.initial_state()
        start = start._replace(modes=start.modes + (1 - 2j))

        @jax.jit
        def loss(time):
            y, state = ssm(u, start._replace(time=time))
            y_next, state = ssm.step(u[0], state)
            return jnp.sum(y**2) + jnp.sum(y_next**2) + state.time

        time, small = jnp.array(3.0), 1e-5
        expected = (loss(time + small) - loss(time - small)) / (2 * small)
        np.testing.assert_allclose(jax.jit(jax.grad(loss))(time), expected, rtol=1e-6)


# The model after many steps.


def test_sinusoids_after_many_steps_equal_mpmath():
    numbers = [0, 1, 12_345, 2**24 + 1, 2**32 - 1, 2**32, FAR, FAR + 1, 10**15 + 7]
    steps = jnp.stack([step_number(n) for n in numbers], axis=1)
    channel = np.arange(8)
    frequencies = 1e4 ** -((channel - channel % 2) / 8)
    with mpmath.workdps(60):
        expected = [
            [float((mpmath.cos if c % 2 else mpmath.sin)(n * mpmath.mpf(float(f))))
             for c, f in enumerate(frequencies)]
            for n in numbers
        ]  # fmt: skip
    np.testing.assert_allclose(sinusoids(steps, 8), expected, atol=1e-6)
    with jax.enable_x64(True):
        np.testing.assert_allclose(sinusoids(steps, 8), expected, atol=1e-14)


def test_step_numbers_carry_into_the_upper_word():
    found = add_steps(step_number(2**32 - 2), jnp.arange(4, dtype=jnp.uint32))
    np.testing.assert_array_equal(found, [[2**32 - 2, 2**32 - 1, 0, 1], [0, 0, 1, 1]])


@pytest.mark.parametrize("way", ["step", "extend"])
def test_the_mean_over_many_steps_includes_every_step(way):
    m = model(depth=0, tokens=False)
    start = state_at(m, FAR)
    x = 1e5 + jax.random.normal(jax.random.key(1), (500, 5))
    features = np.asarray(x, float) @ np.asarray(m.encoder.weight, float).T
    features += np.asarray(m.encoder.bias, float)

    @jax.jit
    def run(x, state):
        if way == "extend":
            return m.extend(x, state)[::-1]
        return jax.lax.scan(lambda state, x: m.step(x, state)[::-1], state, x)

    end, outputs = run(x, start)
    words = [
        np.asarray(words, float) for words in (end.total, end.total_lost[0], end.total_lost[1])
    ]
    added = words[0] - np.asarray(start.total, float) + words[1] + words[2]
    np.testing.assert_allclose(added, features.sum(axis=0), rtol=1e-6)
    mean = (np.asarray(start.total, float) + features.sum(axis=0)) / (FAR + 500)
    expected = np.asarray(m.head.weight, float) @ mean + np.asarray(m.head.bias, float)
    np.testing.assert_allclose(outputs[-1], expected, atol=1e-6)
    np.testing.assert_array_equal(end.steps, step_number(FAR + 500))


# Blocks.

STREAMS = [
    {"pooling": "mean", "mixer": functools.partial(SMALL, clock="scale-invariant")},
    {"pooling": "last", "positions": "sinusoid", "norm": "batch", "final_norm": True, "depth": 2},
    {"task": "next-token", "positions": "learned", "length": 4},
    {"task": "regression", "pooling": "mean", "tokens": False},
]


def same(found, expected, tolerance=1e-5):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@functools.partial(jax.jit, static_argnums=4)
def by_steps(m, x, state, dt, irregular):
    def step(state, now):
        return m.step(now[0], state, now[1] if irregular else None)[::-1]

    state, outputs = jax.lax.scan(step, state, (x, dt))
    return outputs, state


@pytest.mark.parametrize(
    ("options", "irregular"),
    [
        pytest.param(options, irregular, marks=[pytest.mark.slow] * (irregular == bool(i % 2)))
        for i, options in enumerate(STREAMS)
        for irregular in (False, True)
    ],
)
def test_blocks_of_any_size_equal_steps(options, irregular):
    m = model(**options)
    x = tokens(9) if options.get("tokens", True) else jax.random.normal(jax.random.key(3), (9, 5))
    dt = jnp.linspace(0.3, 2, 9)
    expected, last = by_steps(m, x, m.initial_state(), dt, irregular)
    extend = jax.jit(SequenceModel.extend)
    state, outputs = m.initial_state(), []
    for part in (slice(0, 4), slice(4, 4), slice(4, 5), slice(5, 9)):
        output, state = extend(m, x[part], state, dt[part] if irregular else None)
        outputs.append(output)
    same(jnp.concatenate(outputs), expected)
    same(state, last)


@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
def test_blocks_equal_steps_after_many_steps(clock):
    m = model(mixer=functools.partial(SMALL, clock=clock), positions="sinusoid", pooling="mean")
    start, x, dt = state_at(m, FAR), tokens(30), jnp.ones(30)
    expected, last = by_steps(m, x, start, dt, False)
    outputs, state = jax.jit(SequenceModel.extend)(m, x, start)
    same(outputs, expected, 1e-6)
    for words, others in zip(state.mixers, last.mixers, strict=True):
        assert exact(words.time, words.time_lost) == FAR - FAR % 65536 + 30
        assert exact(words.time, words.time_lost) == exact(others.time, others.time_lost)


def test_blocks_of_a_batch_of_streams_with_one_dt_each():
    m = model(mixer=functools.partial(SMALL, clock="scale-invariant"), pooling="last")
    x, dt = jnp.stack([tokens(7), tokens(7, 2)]), jnp.array([0.5, 3.0])
    states = jax.vmap(lambda _: m.initial_state())(dt)
    extend = SequenceModel.extend
    outputs, _ = jax.jit(jax.vmap(extend, (None, 0, 0, 0)))(m, x, states, dt)
    for i in range(2):
        same(outputs[i], jax.jit(extend)(m, x[i], m.initial_state(), dt[i])[0])


def test_the_performer_streams_in_blocks():
    block = functools.partial(
        TransformerBlock, attention=functools.partial(Performer, heads=2, count=8, causal=True)
    )
    m, x = model(block=block, mixer=None, depth=1, positions="sinusoid"), tokens(8)
    expected, _ = by_steps(m, x, m.initial_state(), jnp.ones(8), False)
    outputs, _ = jax.jit(SequenceModel.extend)(m, x, m.initial_state())
    same(outputs, expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: model(task="retrieval").extend(tokens(3), model().initial_state()),
            "needs two whole sequences",
        ),
        (
            lambda: model(mixer=functools.partial(SMALL, bidirectional=True)).extend(
                tokens(3), model().initial_state()
            ),
            "bidirectional mixer needs the whole sequence",
        ),
        (lambda: model().extend(3, model().initial_state()), "block must have a time axis"),
        (lambda: model().extend(tokens(3) + 5, model().initial_state()), "block must contain tok"),
        (
            lambda: model().extend(tokens(0), model().initial_state(), dt=jnp.ones(1)),
            r"dt must be a number or have shape \(0,\)",
        ),
        (
            lambda: model(tokens=False).extend(jnp.ones((2, 4)), model().initial_state()),
            "block must have 5 channels",
        ),
        (lambda: model().extend(tokens(3), model().initial_state(), dt=-1), "dt must be finite"),
        (lambda: Streaming(model(task="retrieval")), "needs two whole sequences"),
        (
            lambda: Streaming(model(mixer=functools.partial(SMALL, bidirectional=True))),
            "bidirectional mixer needs the whole sequence",
        ),
        (
            lambda: Streaming(model(mixer=functools.partial(Attention, heads=2, causal=True))),
            "mixers whose state does not grow",
        ),
        (lambda: Streaming(model()).step(5), "x must contain tokens below 5"),
        (lambda: Streaming(model()).step(tokens(2)), "x must contain integer tokens"),
        (lambda: Streaming(model()).step(1, dt=-1), "dt must be finite"),
        (lambda: Streaming(model()).extend(tokens(2) + 5), "block must contain tokens below 5"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# The compiled stream.


@pytest.mark.parametrize(
    "options",
    [
        *(STREAMS[0], STREAMS[2]),
        *(pytest.param(options, marks=pytest.mark.slow) for options in (STREAMS[1], STREAMS[3])),
    ],
)
def test_a_compiled_stream_equals_the_model(options):
    m = model(**options)
    x = tokens(9) if options.get("tokens", True) else jax.random.normal(jax.random.key(3), (9, 5))
    expected, last = by_steps(m, x, m.initial_state(), jnp.full(9, 0.7), True)
    stream = Streaming(m)
    outputs = [stream.step(sample, 0.7)[None] for sample in np.asarray(x[:5])]
    outputs.append(stream.extend(x[5:5], 0.7))
    outputs.append(stream.extend(x[5:], 0.7))
    same(jnp.concatenate(outputs), expected)
    same(stream.state, last)


def test_a_state_of_a_compiled_stream_stays_valid_and_can_be_resumed(tmp_path):
    m, x = model(), tokens(8)
    stream = Streaming(m)
    stream.extend(x[:4])
    kept = stream.state
    first = stream.extend(x[4:])
    fractal.save(tmp_path / "state.safetensors", kept)
    stream.state = kept
    np.testing.assert_array_equal(stream.extend(x[4:]), first)
    stream.state = fractal.load(tmp_path / "state.safetensors")
    np.testing.assert_array_equal(stream.extend(x[4:]), first)
    with pytest.raises(ValueError, match="x must contain integer tokens"):
        stream.step(0.5)
    assert stream.state.steps[0] == 8  # unchanged by the error
    with pytest.raises(ValueError, match="state must be one that this model returned"):
        stream.state = model(depth=2).initial_state()


def test_a_compiled_stream_passes_few_arrays_and_no_weights():
    m = model(depth=2, mixer=functools.partial(SMALL, clock="scale-invariant"))
    stream = Streaming(m)
    program = stream._step.lower(1, stream._packed, None).compile()
    assert len(jax.tree.leaves(program.in_avals)) == 4  # token, modes and sums, times, step number
    assert len(jax.tree.leaves(eqx.filter(m, eqx.is_array))) > 20
