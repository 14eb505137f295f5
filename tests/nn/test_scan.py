import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fractal.nn

linear_scan = jax.jit(fractal.nn.linear_scan, static_argnames=("reverse", "method"))

METHODS = ("sequential", "associative", "chunked", "auto")
LENGTHS = (1, 2, 3, 7, 1000, 16_384)
DTYPES = (np.float32, np.complex64, np.float64, np.complex128)
# Every length and every dtype, but not all combinations, are compiled by default.
COMPARED = [
    *((1, np.complex64, False), (3, np.complex64, True), (1000, np.complex64, False)),
    *((2, np.float64, False), (7, np.float64, True), (1000, np.float32, False)),
    *((1000, np.complex128, True), (16_384, np.complex64, True)),
]
# The derivative rules are shared by all methods.
MOSTLY_CHUNKED = (
    "chunked",
    pytest.param("sequential", marks=pytest.mark.slow),
    pytest.param("associative", marks=pytest.mark.slow),
)


def problem(length, dtype, varying, slowest=0.9999):
    rng = np.random.default_rng(length)
    shape = (length, 1, 2)
    is_complex = np.issubdtype(dtype, np.complexfloating)

    def normal(*shape):
        x = rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape) if is_complex else x).astype(dtype)

    modulus = rng.uniform(0.5, slowest, shape if varying else shape[1:])
    phase = np.exp(1j * rng.uniform(-3, 3, modulus.shape)) if is_complex else 1.0
    return (modulus * phase).astype(dtype), normal(*shape), normal(*shape[1:])


def loop(a, b, h0, reverse):
    """The recurrence as a loop, in double precision."""
    wide = complex if np.iscomplexobj(b) else float
    steps = range(len(b) - 1, -1, -1) if reverse else range(len(b))
    x, states = h0.astype(wide), np.empty(b.shape, wide)
    for k in steps:
        x = states[k] = (a[k] if a.ndim == b.ndim else a).astype(wide) * x + b[k]
    return states


@pytest.mark.parametrize(
    ("length", "dtype", "varying"),
    [
        pytest.param(*case, marks=() if case in COMPARED else pytest.mark.slow)
        for case in itertools.product(LENGTHS, DTYPES, (False, True))
    ],
)
def test_states_equal_a_loop(length, dtype, varying):
    """With constant gates forward in time, with varying ones in reverse."""
    reverse = varying
    tolerance = 2e-5 if np.finfo(dtype).bits == 32 else 1e-12
    a, b, h0 = problem(length, dtype, varying)
    expected = loop(a, b, h0, reverse)
    with jax.enable_x64(True):
        for method in METHODS[:3]:
            x = linear_scan(*map(jnp.array, (a, b, h0)), reverse=reverse, method=method)
            assert x.dtype == dtype
            assert np.abs(np.asarray(x) - expected).max() <= tolerance * np.abs(expected).max()


def loss_of(states):
    return jnp.sum(jnp.sin(states.real) + jnp.cos(2 * states.real) * states.imag**2)


def unrolled(a, b, h0, reverse):
    x, states = h0, [None] * len(b)
    for k in range(len(b) - 1, -1, -1) if reverse else range(len(b)):
        x = states[k] = (a[k] if a.ndim == b.ndim else a) * x + b[k]
    return jnp.stack(states)


@functools.cache
def unrolled_gradient(reverse):
    """Compiled once for all methods."""
    return jax.jit(jax.grad(lambda *z: loss_of(unrolled(*z, reverse)), argnums=(0, 1, 2)))


@pytest.mark.parametrize("method", METHODS[:3])
@pytest.mark.parametrize("varying", [False, True], ids=["constant", "varying"])
@pytest.mark.parametrize(
    "reverse",
    [pytest.param(False, marks=pytest.mark.slow, id="forward"), pytest.param(True, id="reverse")],
)
@pytest.mark.parametrize("dtype", [pytest.param(np.float64, marks=pytest.mark.slow), np.complex128])
def test_gradients_equal_autodiff_of_the_loop(method, varying, reverse, dtype):
    with jax.enable_x64(True):
        arguments = [jnp.array(x) for x in problem(37, dtype, varying)]
        scan = functools.partial(linear_scan, reverse=reverse, method=method)
        ours = jax.jit(jax.grad(lambda *z: loss_of(scan(*z)), argnums=(0, 1, 2)))
        plain = unrolled_gradient(reverse)
        for got, expected in zip(ours(*arguments), plain(*arguments), strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("method", MOSTLY_CHUNKED)
@pytest.mark.parametrize(
    "varying",
    [pytest.param(False, marks=pytest.mark.slow, id="constant"), pytest.param(True, id="varying")],
)
def test_second_derivatives_equal_autodiff_of_the_loop_in_both_modes(method, varying):
    with jax.enable_x64(True):
        a, b, h0 = (jnp.array(x[..., 0, 0]) for x in problem(19, np.float64, varying))

        def second(scan, twice):
            return jax.jit(twice(lambda *z: loss_of(scan(*z)), argnums=(0, 1, 2)))(a, b, h0)

        def reverse_twice(f, argnums):
            return jax.jacrev(jax.jacrev(f, argnums), argnums)

        expected = second(lambda *z: unrolled(*z, False), jax.hessian)
        for twice in (jax.hessian, reverse_twice):
            got = second(lambda *z: linear_scan(*z, method=method), twice)
            for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(x, y, atol=1e-11)


def check_resuming(length, cut, method, varying):
    a, b, h0 = (jnp.array(x) for x in problem(length, np.complex64, varying))
    cut = min(cut, length)
    whole = linear_scan(a, b, h0, method=method)
    early = linear_scan(a[:cut] if varying else a, b[:cut], h0, method=method)
    carried = early[-1] if cut else h0
    late = linear_scan(a[cut:] if varying else a, b[cut:], carried, method=method)
    np.testing.assert_allclose(jnp.concatenate([early, late]), whole, atol=2e-5)


@pytest.mark.parametrize("method", METHODS[:3])
def test_resuming_from_a_state_equals_one_scan(method):
    check_resuming(38, 19, method, varying=True)


@pytest.mark.slow
@settings(max_examples=15)  # each example is compiled
@given(
    length=st.integers(1, 70),
    cut=st.integers(0, 70),
    method=st.sampled_from(METHODS),
    varying=st.booleans(),
)
def test_resuming_anywhere_equals_one_scan(length, cut, method, varying):
    check_resuming(length, cut, method, varying)


@pytest.mark.parametrize("method", METHODS[:3])
def test_reverse_is_the_scan_of_the_reversed_signal(method):
    a, b, h0 = (jnp.array(x) for x in problem(50, np.complex64, True))
    reversed_scan = linear_scan(a, b, h0, reverse=True, method=method)
    np.testing.assert_allclose(
        reversed_scan, linear_scan(a[::-1], b[::-1], h0, method=method)[::-1], atol=2e-5
    )


@pytest.mark.parametrize("method", METHODS[:3])
def test_vmap_over_inputs_with_shared_gates(method):
    a, b, h0 = (jnp.array(x) for x in problem(50, np.complex64, True))
    batch, states = jnp.stack([b, 2 * b, -b]), jnp.stack([h0, 2 * h0, -h0])
    batched = jax.vmap(lambda b, h0: linear_scan(a, b, h0, method=method))(batch, states)
    single = linear_scan(a, b, h0, method=method)
    np.testing.assert_allclose(batched, jnp.stack([single, 2 * single, -single]), atol=2e-5)


@pytest.mark.parametrize("method", METHODS[:3])
def test_zero_gates_return_the_input_and_unit_gates_its_cumulative_sum(method):
    b = jnp.arange(1.0, 40.0)
    np.testing.assert_array_equal(linear_scan(jnp.array(0.0), b, method=method), b)
    np.testing.assert_allclose(linear_scan(jnp.ones(39), b, method=method), jnp.cumsum(b))


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_sequence_returns_an_empty_array(method):
    assert linear_scan(jnp.ones(3), jnp.zeros((0, 3)), method=method).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linear_scan(jnp.ones(2), jnp.ones((5, 3))), "a must have b's shape"),
        (lambda: linear_scan(jnp.ones((4, 3)), jnp.ones((5, 3))), "a must have b's shape"),
        (lambda: linear_scan(jnp.ones(3), jnp.ones((5, 3)), jnp.ones(2)), "h0 must have shape"),
        (lambda: linear_scan(jnp.array(1.0), jnp.array(1.0)), "b must have a time axis"),
        (lambda: linear_scan(jnp.array(1), jnp.array([1, 2])), "must be real or complex floating"),
        (lambda: linear_scan(jnp.array(1.0), jnp.ones(3), method="fast"), "method must be one of"),
    ],
)  # fmt: skip
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
