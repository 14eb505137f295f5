import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fractal
from fractal.nn import FractalSSM, SequenceModel, Streaming, roles

SELECTIVE, PATH, BOTH = {"selective": True}, {"rate": "path"}, {"selective": True, "rate": "path"}
LENGTH, WIDTH = 29, 3


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def layer(trained=True, **options):
    """A layer whose rates, if they are learned, are away from their initial values."""
    # The sequential scan compiles fastest; rates do not depend on the method of the scan.
    options = {
        "scan": "sequential",
        "order": 4,
        "alphas": (0.0, 0.5, 0.9),
        "key": jax.random.key(0),
    } | options
    ssm = FractalSSM(WIDTH, **options)
    if not trained or ssm.rate is None or ssm.rate.weight is None:
        return ssm
    changed = ssm.rate.weight + jax.random.normal(jax.random.key(7), ssm.rate.weight.shape)
    return eqx.tree_at(lambda ssm: ssm.rate.weight, ssm, changed)


def signal(length=LENGTH, seed=1):
    return jax.random.normal(jax.random.key(seed), (length, WIDTH))


@eqx.filter_jit
def run(ssm, u, state=None, dt=None, lengths=None, mask=None):
    return ssm(u, state, dt, lengths, mask)


def states(ssm, u, dt, mask, reverse):
    """A loop over the real samples, in NumPy: rates and gates as their definitions read."""
    decay, frequency, _ = (np.asarray(x, float) for x in ssm.bank())
    eigenvalues, sizes = decay + 1j * frequency, np.array(ssm.sizes)
    steps = np.asarray(jnp.exp(ssm.log_dt))
    steps = steps if len(steps) == sizes.sum() else np.repeat(steps, sizes)
    B = np.asarray(ssm.B[: sizes.sum()]) + 1j * np.asarray(ssm.B[sizes.sum() :])
    weight = None if ssm.rate.weight is None else np.asarray(ssm.rate.weight)
    z, time, before = np.zeros(len(steps), complex), np.zeros(len(sizes)), np.zeros(WIDTH)
    found = np.zeros((len(u), len(steps)), complex)
    for k in range(len(u))[:: -1 if reverse else 1]:
        if mask[k]:
            if hasattr(ssm.rate, "bias"):
                taken = dt[k] * np.log(1 + np.exp(weight @ u[k] + np.asarray(ssm.rate.bias)))
            else:
                scale = np.full((len(sizes), WIDTH), WIDTH**-0.5) if weight is None else weight
                taken = np.linalg.norm(scale * (u[k] - before), axis=1)
            elapsed = taken
            if ssm.clock == "scale-invariant":
                pairs = zip(taken, time, strict=True)
                elapsed = np.array([np.log(1 + d / t) if t else 1e9 for d, t in pairs])
            w = eigenvalues * steps * np.repeat(elapsed, sizes)
            gate = np.exp(-w) if ssm.discretization == "zoh" else (1 - w / 2) / (1 + w / 2)
            gate[np.repeat(elapsed, sizes) == 1e9] = 0
            z = gate * z + (1 - gate) * (B @ u[k]) / eigenvalues
            time, before = time + taken, u[k]
        found[k] = z
    return found, time


@pytest.mark.parametrize(
    "options",
    [
        slow({**SELECTIVE}),
        {**SELECTIVE, "clock": "scale-invariant", "discretization": "bilinear"},
        slow({**PATH, "init": "fractional"}),
        {**BOTH, "init": "fractional", "clock": "scale-invariant"},  # blocks of different sizes
    ],
    ids=str,
)
def test_outputs_and_state_equal_a_loop_over_the_samples(options):
    with jax.enable_x64(True):
        ssm = layer(bidirectional=True, **options)
        rng = np.random.default_rng(0)
        u, mask = rng.standard_normal((LENGTH, WIDTH)), rng.uniform(size=LENGTH) < 0.7
        dt = None if "rate" in options else rng.uniform(0.1, 2, LENGTH)
        y, state = run(ssm, jnp.asarray(u), None, dt, mask=jnp.asarray(mask))
        (ahead, time), (back, _) = (states(ssm, u, dt, mask, reverse) for reverse in (False, True))
        x = np.concatenate([part for z in (ahead, back) for part in (z.real, z.imag)], axis=1)
        expected = x @ np.asarray(ssm.C).T + np.asarray(ssm.D) * u
        np.testing.assert_allclose(y[mask], expected[mask], atol=1e-9)
        np.testing.assert_allclose(state.modes, ahead[-1], atol=1e-9)
        np.testing.assert_allclose(np.broadcast_to(state.time, time.shape), time, rtol=1e-9)


@pytest.mark.parametrize(
    ("clock", "options"),
    [
        ("scale-invariant", BOTH),
        slow("uniform", SELECTIVE),
        slow("scale-invariant", SELECTIVE),
        slow("uniform", PATH),
        slow("scale-invariant", PATH),
    ],
)
def test_steps_blocks_and_padding_equal_one_call(clock, options):
    ssm, u = layer(clock=clock, **options), signal()
    y, final = run(ssm, u)
    state = ssm.initial_state()
    step = jax.jit(FractalSSM.step)
    for k in range(12):
        y_k, state = step(ssm, u[k], state)
        np.testing.assert_allclose(y_k, y[k], atol=1e-5)
    # The rest, with padding between and after the samples.
    kept = np.isin(np.arange(40), np.r_[3:10, 12:22])
    padded = jnp.full((40, WIDTH), jnp.nan).at[kept].set(u[12:])
    rest, last = run(ssm, padded, state, mask=jnp.asarray(kept))
    np.testing.assert_allclose(rest[kept], y[12:], atol=1e-5)
    counted = run(ssm, jnp.concatenate([u[12:], padded[-5:]]), state, lengths=LENGTH - 12)[1]
    for after in (last, counted):
        for x, y in zip(jax.tree.leaves(after._replace(modes_lost=None, time_lost=None)),
                        jax.tree.leaves(final._replace(modes_lost=None, time_lost=None)),
                        strict=True):  # fmt: skip
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {**BOTH, "clock": "scale-invariant", "learn_alpha": True},
        slow({**SELECTIVE, "clock": "scale-invariant", "bidirectional": True}),
        {**SELECTIVE, "discretization": "bilinear"},
    ],
    ids=str,
)
def test_derivatives_through_the_clock_equal_finite_differences(options):
    with jax.enable_x64(True):
        ssm, u, weights = layer(order=2, **options), signal(11), signal(11, seed=3)
        dt = None if "rate" in options else jnp.linspace(0.5, 1.5, 11)
        dynamic, static = eqx.partition(ssm, eqx.is_array)

        @jax.jit
        def loss(dynamic, u, dt):
            y, state = eqx.combine(dynamic, static)(u, dt=dt)
            ends = jnp.sum(jnp.abs(state.modes) ** 2) + jnp.sum(jnp.sqrt(state.time))
            return jnp.sum(y * weights) + ends

        arguments = (dynamic, u, dt)
        gradients = jax.jit(jax.grad(loss, argnums=(0, 1, 2) if dt is not None else (0, 1)))(
            *arguments
        )
        leaves, tree = jax.tree.flatten(arguments)
        for i, gradient in enumerate(jax.tree.leaves(gradients)):
            way = jax.random.normal(jax.random.key(i), gradient.shape)

            def at(h, i=i, way=way):
                return loss(*tree.unflatten([*leaves[:i], leaves[i] + h * way, *leaves[i + 1 :]]))

            h = 1e-5
            slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
            np.testing.assert_allclose(jnp.sum(gradient * way), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
def test_a_rate_of_zero_leaves_the_state_unchanged_to_the_bit(clock):
    ssm = layer(clock=clock, **SELECTIVE)
    _, state = run(ssm, signal())
    stopped = eqx.tree_at(lambda ssm: ssm.rate.bias, ssm, jnp.full(3, -1e4))
    for after in (run(stopped, signal(seed=2), state)[1], stopped.step(signal()[0], state)[1]):
        np.testing.assert_array_equal(after.modes, state.modes)
        np.testing.assert_array_equal(after.time, state.time)


@pytest.mark.parametrize(
    ("clock", "discretization"),
    [
        ("scale-invariant", "bilinear"),
        slow("uniform", "zoh"),
        slow("uniform", "bilinear"),
        slow("scale-invariant", "zoh"),
    ],
)
def test_outputs_and_gradients_are_finite_for_rates_of_any_size(clock, discretization):
    ssm = layer(clock=clock, discretization=discretization, bidirectional=True, **SELECTIVE)
    # softplus⁻¹ of 1e-12, 1 and 1e12
    ssm = eqx.tree_at(lambda ssm: ssm.rate.bias, ssm, jnp.array([-27.631, 0.5413, 1e12]))
    u, exponents = signal(), jnp.linspace(-12, 12, LENGTH)

    @jax.jit
    @functools.partial(jax.value_and_grad, argnums=(0, 1, 2), has_aux=True)
    def loss(ssm, u, dt):
        y, state = ssm(u, dt=dt)
        return jnp.sum(y**2) + jnp.sum(jnp.abs(state.modes)), (y, state)

    for dt in (jnp.ones(LENGTH), 10**exponents, 10**-exponents, 10 ** jnp.roll(exponents, 9)):
        small = eqx.tree_at(lambda ssm: ssm.rate.bias, ssm, jnp.full(3, 0.5413))
        one = ssm if dt[0] == 1 else small  # the product of rate and dt is in [1e-12, 1e12]
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(loss(one, u, dt)))


def test_a_new_selective_layer_equals_one_with_a_fixed_clock():
    u, dt = signal(), jnp.linspace(0.5, 1.5, LENGTH)
    (y, _), (expected, _) = (run(layer(trained=False, **o), u, None, dt) for o in (SELECTIVE, {}))
    np.testing.assert_allclose(y, expected, atol=1e-6)


def test_repetition_does_not_change_a_selective_state_on_the_scale_invariant_clock():
    ssm, u = layer(clock="scale-invariant", **SELECTIVE), signal()
    (_, once), (_, often) = run(ssm, u), run(ssm, jnp.repeat(u, 7, axis=0))
    np.testing.assert_allclose(often.modes, once.modes, atol=1e-5)
    np.testing.assert_allclose(often.time, 7 * once.time, rtol=1e-5)


@pytest.mark.parametrize(
    ("clock", "options"),
    [
        ("uniform", PATH),
        ("scale-invariant", BOTH),
        slow("uniform", BOTH),
        slow("scale-invariant", PATH),
    ],
)
def test_any_monotone_warp_of_time_leaves_a_path_layer_unchanged(clock, options):
    """Samples are held for random times, in both directions of time."""
    ssm, u = layer(clock=clock, bidirectional=True, **options), signal()
    repeats = np.random.default_rng(0).geometric(0.2, LENGTH)
    y, state = run(ssm, u)
    warped, after = run(ssm, jnp.repeat(u, repeats, axis=0))
    np.testing.assert_allclose(after.modes, state.modes, atol=1e-5)
    np.testing.assert_allclose(warped, jnp.repeat(y, repeats, axis=0), atol=1e-5)


def test_a_pause_leaves_a_path_state_unchanged_to_the_bit_and_has_gradients():
    ssm, u = layer(clock="scale-invariant", **BOTH), signal()
    _, state = run(ssm, u)
    _, after = run(ssm, jnp.repeat(u[-1:], LENGTH, axis=0), state)
    np.testing.assert_array_equal(after.modes, state.modes)
    gradient = jax.jit(jax.grad(lambda ssm, u: jnp.sum(ssm(u)[0] ** 2), (0, 1)))
    gradients = gradient(ssm, u * 0)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(gradients))


@pytest.mark.slow
def test_noise_breaks_the_invariance_of_a_path_as_docs_theory_says():
    t, repeats = np.linspace(0, 1, 400), np.random.default_rng(0).integers(1, 9, 400)
    clean = np.stack([np.sin(6 * np.pi * t), np.cos(10 * np.pi * t + 1)], axis=1)
    scale = np.sqrt(np.mean(np.diff(clean, axis=0) ** 2))

    def change(noise, **options):
        ssm = FractalSSM(2, clock="scale-invariant", scan="sequential", key=jax.random.key(0),
                         **options)  # fmt: skip
        found = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            one, two = (
                np.asarray(ssm(u + noise * scale * rng.standard_normal(u.shape))[1].modes)
                for u in (clean, np.repeat(clean, repeats, axis=0))
            )
            found.append(np.linalg.norm(two - one) / np.linalg.norm(one))
        return np.mean(found)

    for noise, path, fixed in ((0, 0, 0.14), (0.01, 0.03, 0.14), (0.1, 0.2, 0.14), (1, 0.38, 0.16)):
        assert abs(change(noise, rate="path") - path) < 0.005
        assert abs(change(noise) - fixed) < 0.005


@pytest.mark.parametrize("options", [BOTH, slow(SELECTIVE)])
def test_models_with_learned_rates_are_saved_and_streamed(options, tmp_path):
    mixer = functools.partial(FractalSSM, order=4, alphas=(0.2, 0.8), **options)
    model = SequenceModel(WIDTH, 2, tokens=False, width=4, depth=2, mixer=mixer, pooling="last",
                          key=jax.random.key(0))  # fmt: skip
    fractal.save(tmp_path / "model.safetensors", model)
    stream, u = Streaming(fractal.load(tmp_path / "model.safetensors")), signal()
    outputs = [stream.step(u[0]), *stream.extend(u[1:15]), *stream.extend(u[15:])]
    np.testing.assert_allclose(outputs[-1], eqx.filter_jit(model)(u), atol=1e-5)
    if "rate" in options:  # a stack of path layers maps warped inputs to warped outputs
        stream.state = model.initial_state()
        for k in range(LENGTH):
            for _ in range(1 + 3 * k % 4):
                np.testing.assert_allclose(stream.step(u[k]), outputs[k], atol=1e-5)
    assert set(jax.tree.leaves(roles(model).blocks[0].mixer.rate)) == {"rate"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(rate="arc"), "rate must be one of path"),
        (lambda: layer(**PATH)(signal(), dt=1.0), "dt must be None for rate='path'"),
        (lambda: layer(**PATH).step(signal()[0], layer(**PATH).initial_state(), 2.0), "dt must be"),
        (lambda: layer(**PATH)(signal(), layer().initial_state()), "state must be one that"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
