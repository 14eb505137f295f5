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
        ("uniform", False, False),
        ("scale-invariant", True, False),
        ("s5", False, True),
        pytest.param("uniform", True, True, marks=pytest.mark.slow),
        pytest.param("scale-invariant", False, True, marks=pytest.mark.slow),
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


def operations(f, length, platform):
    """How often each operation on arrays of two or more axes stands in the program of a platform.

    Loops are counted whatever they carry. Sums over time, of one axis, are not part of the scan.
    """
    u = jax.ShapeDtypeStruct((2, length, 3), jnp.float32)
    text = jax.jit(f).trace(u).lower(lowering_platforms=(platform,)).as_text()
    counts = collections.Counter()
    for line in text.splitlines():
        if found := re.search(r"stablehlo\.(\w+)", line):
            axes = re.findall(r"tensor<((?:\d+x)*)", line)
            if found[1] == "while" or (axes and axes[-1].count("x") > 1):
                counts[found[1]] += 1
    return counts


def moved(counts):
    """Operations of which a parallel prefix sum has a number that grows with the length."""
    return sum(counts[name] for name in ("slice", "concatenate", "pad", "scatter"))


def batched_layer(name, bidirectional, scan="auto"):
    ssm = layer(name, bidirectional=bidirectional, scan=scan)
    return jax.vmap(lambda u: ssm(u)[0])


def constant_scan(method="auto"):
    gates = jnp.array([0.5, 0.9, 0.99])
    return jax.vmap(lambda u: linear_scan(gates, u, method=method))


def varying_scan(method="auto"):
    return jax.vmap(lambda u: linear_scan(jnp.full_like(u, 0.9), u, method=method))


def gradient(f):
    return jax.grad(lambda u: jnp.sum(f(u) ** 2))


FUNCTIONS = {
    "uniform": functools.partial(batched_layer, "uniform", False),
    "scale-invariant": functools.partial(batched_layer, "scale-invariant", False),
    "uniform bidirectional": functools.partial(batched_layer, "uniform", True),
    "scale-invariant bidirectional": functools.partial(batched_layer, "scale-invariant", True),
    "s5": functools.partial(batched_layer, "s5", False),
    "linear_scan": constant_scan,
    "linear_scan varying": varying_scan,
}


@pytest.mark.parametrize("differentiated", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_of_accelerators_have_no_loop(name, differentiated):
    f = gradient(FUNCTIONS[name]()) if differentiated else FUNCTIONS[name]()
    for platform in ("cuda", "tpu"):
        counts = operations(f, 1024, platform)
        assert counts["while"] == 0
        assert counts["case"] == 0
    assert operations(f, 1024, "cpu")["while"] > 0


@pytest.mark.parametrize("differentiated", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_of_cpus_have_no_operations_whose_number_grows_with_the_length(
    name, differentiated
):
    """Those of accelerators have: the chunks are combined in logarithmic depth."""
    f = gradient(FUNCTIONS[name]()) if differentiated else FUNCTIONS[name]()
    assert moved(operations(f, 4096, "cpu")) == moved(operations(f, 256, "cpu"))
    assert moved(operations(f, 4096, "cuda")) > moved(operations(f, 256, "cuda"))


def test_the_counted_operations_tell_the_methods_apart():
    """A loop over the steps, a tree over the steps, a loop over the chunks."""
    for name, tree in [("sequential", False), ("associative", True), ("chunked", False)]:
        f = constant_scan(name)
        short, long = (operations(f, length, "cuda") for length in (256, 4096))
        assert (long["while"] == 0) == tree
        assert (moved(long) > moved(short)) == tree


@pytest.mark.parametrize("name", ["uniform", "scale-invariant bidirectional", "linear_scan"])
def test_one_exported_program_for_all_platforms_equals_the_layer(name):
    f, u = FUNCTIONS[name](), jnp.stack([signal(37), signal(37, seed=1)])
    for function in (f, gradient(f)):
        exported = jax.export.export(jax.jit(function), platforms=PLATFORMS)(u)
        loaded = jax.export.deserialize(exported.serialize())
        assert loaded.platforms == PLATFORMS
        np.testing.assert_allclose(loaded.call(u), function(u), rtol=1e-5, atol=1e-5)
