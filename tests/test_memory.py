import itertools
import os

import numpy as np
import pytest
import safetensors.numpy
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import fractal
from fractal import theory
from signals import relative_error, signals

ALPHAS = (0.0, 0.01, 0.3, 0.6, 0.9)


def by_bands(ages: np.ndarray, squared_error: np.ndarray) -> list[float]:
    edges = [0, 1e-4, 1e-3, 1e-2, 0.1, 1]
    return [
        float(np.sqrt(squared_error[(ages >= low) & (ages < high)].mean()))
        for low, high in itertools.pairwise(edges)
    ]


@pytest.mark.parametrize("order", [16, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", ["brownian", "sine", "steps", "chirp"])
def test_error_is_close_to_that_of_the_projection(name, alpha, order):
    u = signals(2000)[name]
    memory = fractal.OnlineMemory(alpha, order).push(u[:, None])
    best = theory.project(theory.Fractional(alpha), u, order)
    error = relative_error(alpha, u, memory.coefficients[0])
    limit = relative_error(alpha, u, best)
    assert error <= 1.01 * limit + 0.01
    if alpha == 0:
        assert error == pytest.approx(limit, rel=1e-6)
        np.testing.assert_allclose(memory.coefficients[0], best, atol=1e-9 * np.abs(best).max())


@pytest.mark.parametrize("alpha", [0.0, 0.005, 0.5, 0.95])
def test_coefficients_equal_the_dense_matrix_exponential(alpha, rng):
    """dx/d(log t) = −A x + B u from constant history, by expm of SciPy, irregular steps."""
    order, u = 8, rng.standard_normal(30)
    times = np.cumsum(rng.uniform(0.1, 3, 30))
    op = theory.operator(theory.Fractional(alpha), order)
    x = np.linalg.solve(op.A, op.B) * u[0]
    for k in range(1, 30):
        steady_state = np.linalg.solve(op.A, op.B) * u[k]
        x = steady_state + scipy.linalg.expm(-op.A * np.log(times[k] / times[k - 1])) @ (
            x - steady_state
        )
    memory = fractal.OnlineMemory(alpha, order).push(u[:, None], times=times)
    np.testing.assert_allclose(memory.coefficients[0], x, atol=1e-10)


def test_recent_errors_decrease_with_alpha_at_equal_distant_errors():
    """At α = 0.9 the most recent error is 6× below that of LegS; the oldest is within 2%."""
    length, order, seeds = 50_000, 64, 3
    ages = 1 - (np.arange(length) + 0.5) / length
    errors = {}
    for alpha in (0.0, 0.9):
        squared = np.zeros(length)
        for seed in range(seeds):
            u = signals(length, seed)["brownian"]
            memory = fractal.OnlineMemory(alpha, order).push(u[:, None])
            squared += (memory.recall(ages)[:, 0] - u) ** 2 / seeds
        errors[alpha] = by_bands(ages, squared)
    assert errors[0.9][0] <= errors[0.0][0] / 6
    assert errors[0.9][4] <= 1.02 * errors[0.0][4]


@given(
    alpha=st.sampled_from([0.0, 1e-7, 5e-5, 1e-4, 5e-4, 0.004, 0.01, 0.3, 0.9, 0.95])
    | st.floats(0, 0.95),
    half=st.integers(1, 32),
    cuts=st.lists(st.integers(1, 150), max_size=8),
    scale=st.sampled_from([0.0, 1e-12, 1.0, 1e12]),
    kind=st.sampled_from(["brownian", "steps", "constant"]),
)
def test_state_is_independent_of_the_block_size(alpha, half, cuts, scale, kind):
    length = 150
    u = np.ones(length) if kind == "constant" else signals(length)[kind]
    u = scale * np.stack([u, u[::-1]], axis=1)
    whole = fractal.OnlineMemory(alpha, 2 * half, channels=2).push(u)
    blocks = fractal.OnlineMemory(alpha, 2 * half, channels=2)
    single = fractal.OnlineMemory(alpha, 2 * half, channels=2)
    for part in np.split(u, sorted(cuts)):
        blocks.push(part)
    for sample in u:
        single.push(sample)
    assert whole.count == blocks.count == single.count == length
    size = np.abs(u).max()
    for other in (blocks, single):
        np.testing.assert_allclose(other.coefficients, whole.coefficients, rtol=0, atol=1e-9 * size)
    if kind == "constant":
        np.testing.assert_allclose(whole.recall([0.0, 0.3, 1.0]), scale, rtol=1e-8)


@pytest.mark.parametrize(
    "alpha", [0.0, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.5, 0.9))]
)
def test_long_streams_are_independent_of_the_block_size(alpha, rng):
    u = rng.standard_normal((100_000, 1)).cumsum(axis=0) / 300
    whole = fractal.OnlineMemory(alpha, 64).push(u)
    parts = fractal.OnlineMemory(alpha, 64)
    for part in np.array_split(u, 2000):
        parts.push(part)
    np.testing.assert_allclose(parts.coefficients, whole.coefficients, atol=1e-9 * np.abs(u).max())


@given(alpha=st.floats(0, 0.95), factor=st.sampled_from([2, 3, 10]), unit=st.floats(1e-9, 1e9))
def test_state_is_scale_invariant(alpha, factor, unit):
    u = signals(300)["brownian"][:, None]
    plain = fractal.OnlineMemory(alpha, 16).push(u)
    stretched = fractal.OnlineMemory(alpha, 16).push(u.repeat(factor, axis=0))
    other_unit = fractal.OnlineMemory(alpha, 16).push(u, times=unit * np.arange(1, 301))
    np.testing.assert_allclose(stretched.coefficients, plain.coefficients, atol=1e-9)
    np.testing.assert_allclose(other_unit.coefficients, plain.coefficients, atol=1e-9)


def test_irregular_times_equal_repeated_samples(rng):
    u, durations = rng.standard_normal((60, 2)), rng.integers(1, 9, 60)
    irregular = fractal.OnlineMemory(0.6, 16, channels=2).push(u, times=np.cumsum(durations))
    regular = fractal.OnlineMemory(0.6, 16, channels=2).push(u.repeat(durations, axis=0))
    np.testing.assert_allclose(irregular.coefficients, regular.coefficients, atol=1e-10)


def test_default_times_continue_from_the_last_time(rng):
    u = rng.standard_normal((10, 1))
    mixed = fractal.OnlineMemory(0.5, 8).push(u[:4], times=[1, 2, 3.5, 7]).push(u[4:])
    given_all = fractal.OnlineMemory(0.5, 8).push(u, times=[1, 2, 3.5, 7, 8, 9, 10, 11, 12, 13])
    np.testing.assert_allclose(mixed.coefficients, given_all.coefficients, atol=1e-14)


def test_huge_samples_and_times_give_finite_values():
    memory = fractal.OnlineMemory(0.9, 16).push([[1e290], [-1e290], [1e290]])
    assert np.isfinite(memory.recall([0.0, 0.5, 1.0])).all()
    memory = fractal.OnlineMemory(0.5, 8).push([[1.0], [2.0]], times=[1e-300, 1e300])
    np.testing.assert_allclose(memory.recall([0.0, 1.0]), 2.0, rtol=1e-9)


def test_default_times_that_do_not_increase_in_float64_raise():
    memory = fractal.OnlineMemory(0.5, 8).push([[1.0]], times=[1e17])
    with pytest.raises(ValueError, match=r"^times must be positive and strictly increasing"):
        memory.push([[2.0]])


def test_initial_memory_is_zero_and_an_empty_block_does_not_change_it():
    memory = fractal.OnlineMemory(0.5, 8, channels=3)
    assert memory.push(np.zeros((0, 3))).count == 0
    np.testing.assert_array_equal(memory.recall([0.0, 1.0]), np.zeros((2, 3)))
    assert memory.coefficients.shape == (3, 8)


@pytest.mark.parametrize("alpha", [0.0, 0.9])
@pytest.mark.parametrize("seen", [0, 1, 1234])
def test_resuming_a_loaded_memory_is_exact(alpha, seen, tmp_path, rng):
    u = rng.standard_normal((2000, 2))
    times = np.cumsum(rng.uniform(0.1, 2, 2000))
    memory = fractal.OnlineMemory(alpha, 32, channels=2).push(u[:seen], times=times[:seen])
    memory.save(tmp_path / "memory.safetensors")
    loaded = fractal.OnlineMemory.load(tmp_path / "memory.safetensors")
    assert (loaded.count, loaded.alpha, loaded.order, loaded.channels) == (seen, alpha, 32, 2)
    memory.push(u[seen:], times=times[seen:])
    loaded.push(u[seen:], times=times[seen:])
    assert loaded.count == 2000
    np.testing.assert_array_equal(memory.coefficients, loaded.coefficients)
    np.testing.assert_array_equal(memory.recall([0, 0.1]), loaded.recall([0, 0.1]))
    assert os.listdir(tmp_path) == ["memory.safetensors"]


def test_a_failed_save_preserves_the_existing_file(tmp_path, monkeypatch):
    path = tmp_path / "memory.safetensors"
    fractal.OnlineMemory(0.5, 8).push([[1.0]]).save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        fractal.OnlineMemory(0.5, 8).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def corrupted_files():
    good = {
        "state": np.zeros((1, 10)),
        "rates": theory.modes(0.5, 8).rates.view(float),
        "readout": theory.modes(0.5, 8).readout.view(float),
        "alpha": np.array([0.5]),
        "time": np.array([3.0]),
        "count": np.array([3]),
    }
    ours = {"format": "fractal-memory-1"}
    yield "not safetensors", b"hello"
    yield "another format", safetensors.numpy.save(good, metadata={"format": "other"})
    yield "no metadata", safetensors.numpy.save(good)
    changes = {
        "tensor missing": {"time": None},
        "alpha out of range": {"alpha": np.array([1.5])},
        "state of another size": {"state": np.zeros((1, 6))},
        "state of an odd size": {"state": np.zeros((1, 9))},
        "other rates": {"rates": np.ones(10)},
        "nan": {"state": np.full((1, 10), np.nan)},
        "two times": {"time": np.array([1.0, 2.0])},
        "negative time": {"time": np.array([-1.0])},
        "integers": {"state": np.zeros((1, 10), np.int64)},
        "float32": {"state": np.zeros((1, 20), np.float32)},
        "scrambled readout": {"readout": good["readout"][::-1].copy()},
        "negative count": {"count": np.array([-5])},
        "fractional count": {"count": np.array([3.7])},
        "time without samples": {"count": np.array([0])},
        "scalar alpha": {"alpha": np.array(0.5)},
    }
    for name, change in changes.items():
        tensors = {k: v for k, v in {**good, **change}.items() if v is not None}
        yield name, safetensors.numpy.save(tensors, metadata=ours)


@pytest.mark.parametrize(("name", "data"), list(corrupted_files()))
def test_a_corrupted_file_raises_value_error_in_one_line(name, data, tmp_path):
    path = tmp_path / "memory.safetensors"
    path.write_bytes(data)
    with pytest.raises(
        ValueError, match=r"memory.safetensors is not a memory written by"
    ) as caught:
        fractal.OnlineMemory.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("block", "times", "named"),
    [
        ([[1.0, float("nan")]], None, "block"),
        ([[1.0, float("inf")]], None, "block"),
        ([[1.0, 2.0, 3.0]], None, "block"),
        ([1.0], None, "block"),
        (np.ones((1, 1, 2)), None, "block"),
        ([["a", "b"]], None, "block"),
        ([[1.0, 1.7e308]], None, "block"),
        ([[1.0, -1.7e308]], None, "block"),
        ([[1.0, 2.0]], [3.0], "times"),
        ([[1.0, 2.0]], [2.0], "times"),
        ([[1.0, 2.0]], [4.0, 5.0], "times"),
        (np.ones((2, 2)), [5.0, 4.0], "times"),
        ([1.0, 2.0], float("nan"), "times"),
    ],
)
def test_invalid_blocks_raise_and_do_not_change_the_memory(block, times, named):
    memory = fractal.OnlineMemory(0.5, 8, channels=2).push(np.ones((3, 2)))
    before = memory.coefficients
    with pytest.raises(ValueError, match=f"^{named} must"):
        memory.push(block, times=times)
    assert memory.count == 3
    np.testing.assert_array_equal(memory.coefficients, before)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"alpha": 0.96}, r"alpha must lie in \[0, 0.95\]"),
        ({"alpha": -0.1}, "alpha"),
        ({"order": 3}, "order"),
        ({"channels": 0}, "channels"),
    ],
)
def test_invalid_arguments_raise_value_error(arguments, named):
    with pytest.raises(ValueError, match=f"^{named}"):
        fractal.OnlineMemory(**{"alpha": 0.5, "order": 8, **arguments})
