"""The methods of the engine agree, and `"auto"` compiles to the program of each platform."""

import collections
import functools
import re

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from fractal._engine.pair import Pair, complex_to_real, real_to_complex
from fractal._engine.sin_cos import sin_cos
from fractal.baselines import S5
from fractal.nn import FractalSSM, linear_scan

PLATFORMS = ("cpu", "cuda", "tpu")
LAYERS = {
    "uniform": functools.partial(FractalSSM, order=4, alphas=(0.0, 0.9)),
    "scale-invariant": functools.partial(
        FractalSSM, order=4, alphas=(0.0, 0.9), clock="scale-invariant"
    ),
    "s5": functools.partial(S5, order=8, blocks=2),
}


def layer(name, **options):
    return LAYERS[name](3, key=jax.random.key(0), **options)


def signal(length, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal((length, 3)))


def pairs(rng, *shape, paired=True):
    """A pair, and the same complex numbers."""
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if paired else 0)
    return Pair(jnp.asarray(x.real), jnp.asarray(x.imag) if paired else None), x


def numbers(pair):
    return np.asarray(pair.real) + (0 if pair.imag is None else 1j * np.asarray(pair.imag))


@pytest.mark.parametrize("paired", [True, False], ids=["complex", "real"])
def test_operators_of_pairs_equal_those_of_complex_numbers(rng, paired):
    """Operands of lower rank are broadcast over leading axes, on either side."""
    with jax.enable_x64(True):
        (a, x), (b, y) = pairs(rng, 5, 3, paired=paired), pairs(rng, 3, paired=paired)
        expected = [
            (a + b, x + y), (a - b, x - y), (a * b, x * y), (b - a, y - x), (b * a, y * x),
            (a.conj(), x.conj()), (a.complement(), 1 - x), (a.scale(jnp.array(2.0)), 2 * x),
            (a[1:3], x[1:3]),
        ]  # fmt: skip
        for pair, value in expected:
            assert (pair.imag is None) != paired
            np.testing.assert_allclose(numbers(pair), value, rtol=1e-14)


def test_split_and_join_are_inverse(rng):
    with jax.enable_x64(True):
        (a, x), (b, _) = pairs(rng, 5, 3), pairs(rng, 5, 3, paired=False)
        assert a.join().shape == (5, 6)
        np.testing.assert_array_equal(a.join(), np.concatenate([x.real, x.imag], axis=-1))
        np.testing.assert_array_equal(numbers(Pair.split(a.join(), paired=True)), x)
        assert Pair.split(b.join(), paired=False).imag is None
        np.testing.assert_array_equal(real_to_complex(a.join()), x)
        np.testing.assert_array_equal(complex_to_real(jnp.asarray(x), axis=0)[5:], x.imag)


def outputs_and_gradients(name, scan, bidirectional, irregular):
    """Outputs, final state, and gradients of a loss of both in the layer, u, state and dt.

    Of a call from a state, over a number of steps that is not a multiple of 16.
    """
    ssm, u = layer(name, bidirectional=bidirectional, scan=scan), signal(37)
    dt = jnp.asarray(np.random.default_rng(1).uniform(0.2, 2, 37)) if irregular else None
    state = None if bidirectional else ssm.step(jnp.ones(3), ssm.initial_state())[1]

    def loss(ssm, u, state, dt):
        y, after = ssm(u, state, dt)
        squares = [jnp.sum(jnp.sin(y)), *(jnp.sum(jnp.abs(x) ** 2) for x in jax.tree.leaves(after))]
        return sum(squares), (y, after)

    varied = tuple(i for i, x in enumerate((ssm, u, state, dt)) if x is not None)
    (_, results), gradients = jax.jit(jax.value_and_grad(loss, varied, has_aux=True))(
        ssm, u, state, dt
    )
    return jax.tree.leaves((results, gradients))


@pytest.fixture
def accelerator(monkeypatch):
    """Compile the program of accelerators for this CPU."""

    def compile_default(*operands, default, **_):
        return default(*operands)

    monkeypatch.setattr(lax, "platform_dependent", compile_default)
    jax.clear_caches()
    yield
    jax.clear_caches()


@pytest.mark.parametrize(
    ("name", "bidirectional", "irregular"),
    [
        ("scale-invariant", False, True),
        pytest.param("uniform", True, False, marks=pytest.mark.slow),
        pytest.param("uniform", False, False, marks=pytest.mark.slow),
        pytest.param("scale-invariant", True, False, marks=pytest.mark.slow),
        pytest.param("s5", False, True, marks=pytest.mark.slow),
        pytest.param("s5", True, False, marks=pytest.mark.slow),
    ],
)
def test_all_methods_agree_in_outputs_state_and_gradients(
    name, bidirectional, irregular, accelerator
):
    """With "auto" as on accelerators; on CPUs it is "chunked"."""
    with jax.enable_x64(True):
        expected, *others = (
            outputs_and_gradients(name, scan, bidirectional, irregular)
            for scan in ("sequential", "associative", "chunked", "auto")
        )
        for found in others:
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * max(1, np.abs(y).max()))


def operations(traced, platform):
    """How often each operation on arrays of two or more axes stands in the program of a platform.

    Loops are counted whatever they carry. Cumulative sums of durations, of one axis, are not part
    of the scan.
    """
    counts = collections.Counter()
    for line in traced.lower(lowering_platforms=(platform,)).as_text().splitlines():
        if found := re.search(r"stablehlo\.(\w+)", line):
            axes = re.findall(r"tensor<((?:\d+x)*)", line)
            if found[1] == "while" or (axes and axes[-1].count("x") > 1):
                counts[found[1]] += 1
    return counts


def moves(counts):
    """Operations whose number grows with the length in a parallel prefix sum."""
    return sum(counts[name] for name in ("slice", "concatenate", "pad", "scatter"))


def traced(f, length):
    return jax.jit(f).trace(jax.ShapeDtypeStruct((2, length, 3), jnp.float32))


def batch_of(name, differentiated, **options):
    """The outputs for a batch of inputs, or the gradients in inputs and parameters."""
    if name in LAYERS:
        parameters = layer(name, **options)
        run = jax.vmap(lambda ssm, u: ssm(u)[0], in_axes=(None, 0))
    else:
        parameters = jnp.array([0.5, 0.9, 0.99])
        run = jax.vmap(functools.partial(linear_scan, **options), in_axes=(None, 0))
    if not differentiated:
        return functools.partial(run, parameters)
    gradient = jax.grad(lambda parameters, u: jnp.sum(run(parameters, u) ** 2), (0, 1))
    return functools.partial(gradient, parameters)


PROGRAMS = [
    ("uniform", {}, True),
    ("linear_scan", {}, True),
    ("uniform", {}, False),
    *(
        pytest.param(*case, marks=pytest.mark.slow)
        for case in [
            ("uniform", {"bidirectional": True}, False),
            ("uniform", {"bidirectional": True}, True),
            ("scale-invariant", {}, False),
            ("scale-invariant", {}, True),
            ("scale-invariant", {"bidirectional": True}, True),
            ("scale-invariant", {"bidirectional": True}, False),
            ("s5", {}, False),
            ("s5", {}, True),
            ("linear_scan", {}, False),
        ]
    ),
]


@pytest.mark.parametrize(("name", "options", "differentiated"), PROGRAMS)
def test_programs_have_a_loop_on_cpus_and_logarithmic_depth_on_accelerators(
    name, options, differentiated
):
    f = batch_of(name, differentiated, **options)
    short, long = traced(f, 256), traced(f, 4096)
    on_cpu = operations(long, "cpu")
    assert on_cpu["while"] > 0
    assert moves(on_cpu) == moves(operations(short, "cpu"))
    for platform in ("cuda", "tpu"):
        elsewhere = operations(long, platform)
        assert elsewhere["while"] == 0
        assert moves(elsewhere) > moves(operations(short, platform))


def test_the_choice_of_the_platform_is_not_part_of_the_compiled_program():
    compiled = traced(batch_of("linear_scan", True), 256).lower().compile().as_text()
    assert compiled is not None
    assert " while(" in compiled
    assert " conditional(" not in compiled


@pytest.mark.parametrize(
    ("method", "loop"), [("sequential", True), ("associative", False), ("chunked", True)]
)
def test_other_methods_are_the_same_program_on_all_platforms(method, loop):
    f = batch_of("linear_scan", False, method=method)
    for platform in PLATFORMS:
        short, long = (operations(traced(f, length), platform) for length in (256, 4096))
        assert (long["while"] > 0) == loop
        assert (moves(long) == moves(short)) == loop


@pytest.mark.parametrize(
    ("name", "options", "differentiated"),
    [
        ("linear_scan", {}, False),
        pytest.param("uniform", {}, False, marks=pytest.mark.slow),
        pytest.param("scale-invariant", {"bidirectional": True}, True, marks=pytest.mark.slow),
        pytest.param("uniform", {"bidirectional": True}, True, marks=pytest.mark.slow),
    ],
)
def test_one_exported_program_for_all_platforms_equals_the_layer(name, options, differentiated):
    f, u = batch_of(name, differentiated, **options), jnp.stack([signal(37), signal(37, seed=1)])

    def leaves(u):
        return jax.tree.leaves(f(u))

    exported = jax.export.export(jax.jit(leaves), platforms=PLATFORMS)(u)
    loaded = jax.export.deserialize(exported.serialize())
    assert loaded.platforms == PLATFORMS
    for x, y in zip(loaded.call(u), jax.jit(leaves)(u), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-5 * max(1, np.abs(y).max()))


def test_sine_and_cosine_equal_numpy_to_the_rounding_of_their_arguments():
    small, sizes = np.linspace(-1e3, 1e3, 40_001), 10.0 ** np.linspace(3, 12, 2001)
    for x in (small.astype(np.float32), sizes.astype(np.float32), -sizes.astype(np.float32)):
        sine, cosine = (np.asarray(y, float) for y in sin_cos(jnp.asarray(x)))
        error = np.hypot(sine - np.sin(x.astype(float)), cosine - np.cos(x.astype(float)))
        assert (error <= 2e-7 + np.spacing(np.abs(x)).astype(float)).all()
    assert [float(y[0]) for y in sin_cos(jnp.zeros(1))] == [0, 1]  # a gate of exactly 1
