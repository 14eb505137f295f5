import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from fractal import theory
from fractal.nn import FractalSSM
from signals import relative_error, signals


def layer(width=3, order=8, **options):
    return FractalSSM(
        width, order=order, **{"alphas": (0.0, 0.5, 0.9), "key": jax.random.key(0)} | options
    )


def signal(length, width=3, seed=1):
    return jax.random.normal(jax.random.key(seed), (length, width))


@eqx.filter_jit
def run(ssm, u, state=None, dt=None, lengths=None, mask=None):
    return ssm(u, state, dt, lengths, mask)


def brute_force(ssm, u, dt=None, mask=None, reverse=False):
    """States of one scan by matrix exponentials per mode, in double precision."""
    decay, frequency, gain = (np.asarray(x, float) for x in ssm.bank())
    rates, u = decay + 1j * frequency, np.asarray(u, float)
    steps = np.exp(np.asarray(ssm.log_dt, float))
    steps = steps if len(steps) == len(rates) else np.repeat(steps, ssm.sizes)
    B = np.asarray(ssm.B, float)
    drives = u @ (gain[:, None] * (B[: len(rates)] + 1j * B[len(rates) :])).T
    dt = np.broadcast_to(1.0 if dt is None else dt, len(u))
    z, time, states = np.zeros(len(rates), complex), 0.0, np.zeros((len(u), len(rates)), complex)
    for k in range(len(u) - 1, -1, -1) if reverse else range(len(u)):
        if mask is None or mask[k]:
            scale_invariant = ssm.clock == "scale-invariant"
            elapsed = np.log((time + dt[k]) / time) if scale_invariant and time else dt[k]
            s = steps * elapsed
            if scale_invariant and time == 0:
                z = drives[k] / rates
            elif ssm.discretization == "zoh":
                systems = np.zeros((len(rates), 2, 2), complex)
                systems[:, 0, 0], systems[:, 0, 1] = -rates * s, drives[k] * s
                discrete = scipy.linalg.expm(systems)
                z = discrete[:, 0, 0] * z + discrete[:, 0, 1]
            else:
                z = ((1 - s * rates / 2) * z + s * drives[k]) / (1 + s * rates / 2)
            time += dt[k]
        states[k] = z
    return states


@pytest.mark.parametrize(
    ("init", "clock", "discretization"),
    [
        ("normal", "uniform", "zoh"),
        ("fractional", "scale-invariant", "zoh"),
        ("published", "uniform", "bilinear"),
        pytest.param("normal", "scale-invariant", "bilinear", marks=pytest.mark.slow),
    ],
)
def test_outputs_equal_a_loop_of_matrix_exponentials(init, clock, discretization):
    with jax.enable_x64(True):
        ssm = layer(init=init, clock=clock, discretization=discretization, bidirectional=True)
        u, rng = signal(37), np.random.default_rng(0)
        keep = rng.uniform(size=37) < 0.7
        for dt, mask in [(None, None), (rng.uniform(0.1, 2, 37), keep)]:
            y, state = run(ssm, u, None, dt, mask=None if mask is None else jnp.array(mask))
            sides = [brute_force(ssm, u, dt, mask, reverse) for reverse in (False, True)]
            x = np.concatenate([part for z in sides for part in (z.real, z.imag)], axis=1)
            expected = x @ np.asarray(ssm.C).T + np.asarray(ssm.D) * np.asarray(u)
            counted = slice(None) if mask is None else mask  # outputs at padding are undefined
            np.testing.assert_allclose(
                y[counted], expected[counted], atol=1e-9 * np.abs(expected).max()
            )
            np.testing.assert_allclose(state.modes, sides[0][-1], atol=1e-9)


@pytest.mark.parametrize(
    ("init", "clock", "irregular"),
    [
        ("normal", "uniform", False),
        ("normal", "scale-invariant", True),
        pytest.param("published", "uniform", True, marks=pytest.mark.slow),
        pytest.param("fractional", "scale-invariant", False, marks=pytest.mark.slow),
    ],
)
def test_step_by_step_equals_the_scan(init, clock, irregular):
    ssm, u = layer(init=init, clock=clock), signal(50)
    dt = jnp.linspace(0.2, 1.5, 50) if irregular else jnp.ones(50)
    y, final = run(ssm, u, None, dt if irregular else None)
    state, step = ssm.initial_state(), eqx.filter_jit(lambda ssm, *a: ssm.step(*a))
    for k in range(50):
        y_k, state = step(ssm, u[k], state, dt[k] if irregular else None)
        np.testing.assert_allclose(y_k, y[k], atol=1e-5)
    np.testing.assert_allclose(state.modes, final.modes, atol=1e-5)
    np.testing.assert_allclose(state.time, final.time, rtol=1e-6)


@pytest.mark.parametrize(
    ("clock", "discretization"), [("uniform", "zoh"), ("scale-invariant", "bilinear")]
)
def test_chunked_calls_with_carried_state_equal_one_call(clock, discretization):
    ssm, u = layer(clock=clock, discretization=discretization), signal(100)
    y, final = run(ssm, u)
    state, parts = None, []
    for part in jnp.split(u, [25, 50, 75]):
        out, state = run(ssm, part, state)
        parts.append(out)
    np.testing.assert_allclose(jnp.concatenate(parts), y, atol=1e-5)
    np.testing.assert_allclose(state.modes, final.modes, atol=1e-5)


@pytest.mark.parametrize(
    "clock", [pytest.param("uniform", marks=pytest.mark.slow), "scale-invariant"]
)
def test_reversing_input_and_output_exchanges_the_two_directions(clock):
    ssm, u = layer(clock=clock, bidirectional=True), signal(45)
    first, second = jnp.split(ssm.C, 2, axis=1)
    swapped = eqx.tree_at(lambda s: s.C, ssm, jnp.concatenate([second, first], axis=1))
    y, _ = run(ssm, u)
    np.testing.assert_allclose(run(swapped, u[::-1])[0][::-1], y, atol=1e-5)


@pytest.mark.parametrize(
    ("clock", "bidirectional", "counted"),
    [
        ("scale-invariant", False, False),
        ("uniform", True, True),
        pytest.param("uniform", True, False, marks=pytest.mark.slow),
        pytest.param("scale-invariant", True, True, marks=pytest.mark.slow),
    ],
)
def test_padding_does_not_change_outputs_and_state(clock, bidirectional, counted):
    ssm, u = layer(clock=clock, bidirectional=bidirectional), signal(40)
    y, state = run(ssm, u)
    garbage = (1e3 * signal(23, seed=5)).at[3].set(jnp.nan)
    padded = jnp.concatenate([u, garbage])
    padding = {"lengths": 40} if counted else {"mask": jnp.arange(63) < 40}
    y_padded, state_padded = run(ssm, padded, **padding)
    np.testing.assert_allclose(y_padded[:40], y, atol=1e-5)
    np.testing.assert_allclose(state_padded.modes, state.modes, atol=1e-5)
    assert state_padded.time == state.time


def test_a_sequence_of_padding_does_not_change_the_state():
    ssm, u = layer(), signal(12)
    _, state = run(ssm, u)
    _, after = run(ssm, u, state, None, jnp.int32(0))
    np.testing.assert_array_equal(after.modes, state.modes)
    assert after.time == state.time


@pytest.mark.parametrize(
    ("init", "dtype", "tolerance"),
    [
        pytest.param("normal", "float32", 1e-4, marks=pytest.mark.slow),
        ("normal", "float64", 1e-10),
        ("fractional", "float32", 1e-4),
        pytest.param("fractional", "float64", 1e-10, marks=pytest.mark.slow),
    ],
)
def test_final_state_is_scale_invariant_on_the_scale_invariant_clock(init, dtype, tolerance):
    with jax.enable_x64(dtype == "float64"):
        ssm = layer(2, 16, init=init, clock="scale-invariant")
        u = np.stack([signals(100, i)["brownian"] for i in range(2)], axis=1)

        def ends(stretch, dt=1.0):  # padded to one length to compile once
            padded = np.zeros((1000, 2), dtype)
            padded[: 100 * stretch] = np.repeat(u, stretch, axis=0)
            mask = jnp.arange(1000) < 100 * stretch
            return run(ssm, jnp.asarray(padded), None, jnp.asarray(dt, dtype), mask=mask)[1].modes

        state = ends(1)
        assert state.dtype == np.result_type(dtype, np.complex64)
        for other in (ends(2), ends(3), ends(10), ends(1, dt=7.3)):
            assert jnp.abs(other - state).max() <= tolerance * jnp.abs(state).max()


@pytest.mark.parametrize(
    "alpha",
    [0.9, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.01, 0.3, 0.6))],
)
def test_fractional_layer_reconstructs_as_well_as_the_projection_in_float32(alpha):
    """Frozen layer, linear readout of its state, order 16, Brownian paths."""
    order, samples = 16, 2000
    ssm = FractalSSM(
        1, order=order, alphas=alpha, init="fractional", clock="scale-invariant", dt_min=1,
        dt_max=1, key=jax.random.key(0),
    )  # fmt: skip
    paths = np.stack([signals(samples, seed)["brownian"] for seed in range(60)])
    states = eqx.filter_jit(lambda s, u: jax.vmap(lambda u: s(u)[1].modes)(u))(
        ssm, jnp.asarray(paths, jnp.float32)[..., None]
    )
    assert states.dtype == jnp.complex64
    features = np.concatenate([states.real, states.imag], axis=1).astype(float)
    best = np.stack([theory.project(theory.Fractional(alpha), path, order) for path in paths])
    fitted = features @ np.linalg.lstsq(features[:40], best[:40], rcond=1e-7)[0]
    for i in range(40, 60):
        recalled, possible = (relative_error(alpha, paths[i], x) for x in (fitted[i], best[i]))
        assert recalled <= 1.02 * possible


@pytest.mark.parametrize(
    ("init", "order", "alphas", "dt"),
    [
        ("normal", 2, (0.0,), (1e-3, 1e-1)),
        ("fractional", 8, (0.9,), (1e-2, 1.0)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("normal", 64, None, (1e-2, 1e-1)),
                ("fractional", 16, (0.0, 0.3, 0.6, 0.9), (0.3, 0.3)),
                ("published", 8, None, (1e-2, 1e-1)),
            ]
        ),
    ],
)
def test_output_variance_is_one_for_white_noise(init, order, alphas, dt):
    outputs = []
    for seed in range(3):
        ssm = FractalSSM(
            256,
            order=order,
            alphas=alphas,
            init=init,
            dt_min=dt[0],
            dt_max=dt[1],
            key=jax.random.key(seed),
        )
        y, _ = run(ssm, signal(6000, 256, seed))
        outputs.append(y[2000:])
    assert 0.8 < np.var(np.stack(outputs)) < 1.25


def test_scan_is_in_float32_for_bfloat16_activations():
    ssm, u = layer(), signal(200)
    y, state = run(ssm, u.astype(jnp.bfloat16))
    assert y.dtype == jnp.bfloat16
    assert state.modes.dtype == jnp.complex64
    exact, _ = run(ssm, u.astype(jnp.bfloat16).astype(jnp.float32))
    np.testing.assert_array_equal(y, exact.astype(jnp.bfloat16))


def test_initial_dt_lies_in_its_range_per_mode_or_per_block():
    def range_of(**options):
        dt = np.exp(np.asarray(layer(**options).log_dt))
        return len(dt), dt.min(), dt.max()

    count, low, high = range_of()
    assert count == 12
    assert low >= 1e-3
    assert high <= 0.1
    _, low, high = range_of(length=1000)
    assert low >= 2 / 1000
    assert high <= 0.5
    _, low, high = range_of(clock="scale-invariant")
    assert low >= 0.3
    assert high <= 3
    _, low, high = range_of(clock="scale-invariant", length=1000)
    assert low >= 0.3
    assert 3 < high <= 500
    count, low, high = range_of(init="fractional", dt_min=0.2, dt_max=0.2)
    assert count == 3
    np.testing.assert_allclose((low, high), 0.2, rtol=1e-6)


def test_integer_inputs_are_converted_to_floating_point():
    ssm, step = layer(), jax.jit(FractalSSM.step)
    y, state = run(ssm, jnp.ones((4, 3), int))
    np.testing.assert_array_equal(y, run(ssm, jnp.ones((4, 3)))[0])
    whole, real = (step(ssm, jnp.array([1, 0, 2], dtype), state)[0] for dtype in (int, float))
    np.testing.assert_array_equal(whole, real)


def test_an_empty_sequence_does_not_change_the_state():
    ssm = layer()
    y, state = ssm(jnp.zeros((0, 3)))
    assert y.shape == (0, 3)
    np.testing.assert_array_equal(state.modes, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer(order=7), "order must be even"),
        (lambda: layer(width=0), "width must be an integer of at least 1"),
        (lambda: layer(alphas=()), "alphas must contain at least one value"),
        (lambda: layer(alphas=(1.0,)), "alpha must lie in"),
        (lambda: layer(clock="log"), "clock must be one of uniform, scale-invariant"),
        (lambda: layer(discretization="euler"), "discretization must be one of zoh, bilinear"),
        (lambda: layer(dt_min=0), "dt_min must be a finite number above 0"),
        (lambda: layer(dt_min=1), "dt_min must not exceed dt_max"),
        (lambda: layer()(jnp.zeros((5, 2))), r"u must have shape \(time, 3\)"),
        (lambda: layer()(jnp.zeros((5, 3)), dt=jnp.ones(4)), "dt must be a number or have shape"),
        (lambda: layer()(jnp.zeros((5, 3)), mask=jnp.ones(4) > 0), "mask must be boolean, of"),
        (lambda: layer()(jnp.zeros((5, 3)), dt=-np.ones(5)), "dt must be finite and not negative"),
        (lambda: layer()(jnp.zeros((5, 3)), dt=np.inf), "dt must be finite and not negative"),
        (lambda: layer()(jnp.zeros((5, 3)), lengths=-1), r"lengths must lie in \[0, 5\]"),
        (lambda: layer()(1j * np.ones((5, 3))), "u must be real"),
        (lambda: layer().step(jnp.zeros(3), layer().initial_state(), dt=-1), "dt must be finite"),
        (lambda: layer(bidirectional=True).step(jnp.zeros(3), layer().initial_state()), "no step"),
        (
            lambda: layer(bidirectional=True)(jnp.zeros((5, 3)), layer().initial_state()),
            "state must be None",
        ),
    ],
)  # fmt: skip
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
