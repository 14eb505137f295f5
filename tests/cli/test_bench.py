import json

import numpy as np
import pytest

from commands import run


@pytest.mark.slow
def test_bench_scan_times_every_method(capsys, monkeypatch):
    from fractal.bench import scan

    monkeypatch.setattr(scan, "LENGTHS", (4,))
    monkeypatch.setattr(scan, "SIZES", ((1, 2),))
    code, out, _ = run(capsys, "bench", "scan", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["setting"]["backend"] == "cpu"
    for row in found["milliseconds"].values():
        assert set(row) == {"sequential", "associative", "chunked"}
    assert set(found["fastest"]) == set(found["milliseconds"])
    code, out, _ = run(capsys, "bench", "scan")
    assert "ms, forward, 1 × 2 modes, L = 4" in out


@pytest.mark.slow
def test_bench_layer_compares_with_the_lower_bound_and_s5(capsys, monkeypatch):
    from fractal.bench import layer

    for name, value in (
        ("BATCH", 1), ("LENGTH", 32), ("LONG", 64), ("WIDTH", 4), ("MODES", 8), ("ROUNDS", 2),
    ):  # fmt: skip
        monkeypatch.setattr(layer, name, value)
    monkeypatch.setattr(layer, "keep_freed_memory", lambda: False)  # it is for the whole process
    monkeypatch.setattr(layer, "_against_torch", lambda *_: None)  # warns, where it is installed
    code, out, _ = run(capsys, "bench", "layer", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["provenance"]["machine"]["cores"] >= 1
    for kind in ("forward", "forward + backward"):
        row = result["milliseconds"][kind]
        assert row["ours"]["low"] <= row["ours"]["median"] <= row["ours"]["high"]
        ratio = row["ours"]["median"] / row["lower bound"]["median"]
        assert result["times_the_lower_bound"][kind] == pytest.approx(ratio)
        ratio = row["S5 scan"]["median"] / row["ours"]["median"]
        assert result["times_faster_than_s5_scan"][kind] == pytest.approx(ratio)


@pytest.fixture
def small_step(monkeypatch):
    from fractal.bench import step

    cases = {
        "listops-mini": step.Case("listops", "mini", 16, 20, 10, batch=2),
        "image-mini": step.Case("image", "mini", 8, 1, 10, batch=1),
    }
    for name, value in (("CASES", cases), ("ROUNDS", 2), ("SECONDS", 0.01)):
        monkeypatch.setattr(step, name, value)
    monkeypatch.setattr(step, "keep_freed_memory", lambda: False)  # it is for the whole process
    return step


@pytest.mark.slow
def test_bench_step_compares_with_matrix_products_and_the_associative_scan(
    capsys, small_step, tmp_path
):
    """Case by case into one file, the last one first."""
    path = tmp_path / "step.json"
    for case in ("image-mini", "listops-mini"):
        options = ("--case", case, "--update", str(path), "--json")
        code, out, _ = run(capsys, "bench", "step", *options)
        assert code == 0
    found = json.loads(out)
    assert json.loads(path.read_text()) == found
    assert found["provenance"]["machine"]["cores"] >= 1
    assert list(found["milliseconds"]) == ["listops-mini", "image-mini"]
    assert list(found["sources"]) == ["listops-mini", "image-mini"]
    for case, times in found["milliseconds"].items():
        medians = {name: time["median"] for name, time in times.items()}
        for model in small_step.MODELS:
            bound = medians[f"{model}, matrix products"]
            ratio = found["times_the_lower_bound"][case][model]
            assert ratio == pytest.approx(medians[model] / bound)
            ratio = found["times_faster_than_associative"][case][model]
            assert ratio == pytest.approx(medians["s5, associative"] / medians[model])
            for cost in ("gigaflop_per_second", "megabytes", "compile_seconds", "busy_cores"):
                assert found[cost][case][model] > 0


def test_results_of_other_machines_or_settings_are_not_merged():
    from fractal.bench.step import merge

    one = {"provenance": {"machine": 1, "versions": 2, "date": 3}, "setting": {"rounds": 5}}
    one |= {"megabytes": {"image-mini": 1.0}, "compile_seconds": {"image-mini": {"s5": 4.0}}}
    two = {**one, "megabytes": {"text-mini": 2.0}, "compile_seconds": {"text-mini": {"s5": None}}}
    assert merge(one, two)["megabytes"] == {"text-mini": 2.0, "image-mini": 1.0}
    seconds = {"text-mini": {"s5": None}, "image-mini": {"s5": 4.0}}
    assert merge(one, two)["compile_seconds"] == seconds
    again = {"megabytes": {"image-mini": 3.0}, "compile_seconds": {"image-mini": {"s5": None}}}
    assert merge(one, {**one, **again})["megabytes"]["image-mini"] == 3.0
    assert merge(one, {**one, **again})["compile_seconds"] == one["compile_seconds"]
    with pytest.raises(ValueError, match="measured on another machine"):
        merge({**one, "setting": {"rounds": 6}}, two)


@pytest.mark.slow
def test_the_products_of_the_benchmark_are_those_of_the_model(small_step):
    """By the settings of the preset, and by the projection in the traced forward pass."""
    import jax

    case = small_step.CASES["listops-mini"]
    model, task = small_step._model(case, "fractal")
    width, states = 64, 8 * 8
    block = [(width, states), (2 * states, width), (width, width), (width, width)]
    assert small_step.products(model) == 2 * block
    batch = small_step._batch(case, task)
    traced = str(jax.make_jaxpr(jax.vmap(model))(batch.inputs))
    assert f"f32[{case.batch},{case.length},{states}] = dot_general" in traced


@pytest.mark.slow
def test_the_associative_s5_of_the_benchmark_is_s5(small_step):
    import jax

    case = small_step.CASES["image-mini"]
    x = jax.random.normal(jax.random.key(0), (case.length, 1))
    one, two = (small_step._model(case, name)[0] for name in ("s5", "s5, associative"))
    np.testing.assert_allclose(one(x), two(x), atol=1e-4)


@pytest.mark.slow
def test_the_s5_scan_of_the_benchmark_is_a_plain_recurrence():
    """The peer must compute the layer that it stands for."""
    import jax

    from fractal.bench import layer

    parameters, _ = layer._candidates(8)["S5 scan"]
    p = {name: np.asarray(value, float) for name, value in parameters.items()}
    u = np.asarray(jax.random.normal(jax.random.key(3), (8, layer.WIDTH)), float)
    rates = p["rate"] + 1j * p["frequency"]
    gate = np.exp(rates * np.exp(p["log_dt"]))
    B, C = (p[name][..., 0] + 1j * p[name][..., 1] for name in "BC")
    x, expected = np.zeros(len(rates), complex), []
    for now in u:
        x = gate * x + (gate - 1) / rates * (B @ now)
        expected.append(2 * (C @ x).real + p["D"] * now)
    got = layer._s5(parameters, jax.numpy.asarray(u, jax.numpy.float32))
    np.testing.assert_allclose(got, np.stack(expected), atol=1e-3)


@pytest.mark.slow
def test_bench_stream_reports_the_shares_of_call_and_arithmetic(capsys, monkeypatch):
    from fractal.bench import stream

    for name, value in (("WIDTH", 8), ("DEPTH", 1), ("BLOCKS", (1, 4)), ("SAMPLES", 8),
                        ("ROUNDS", 2)):  # fmt: skip
        monkeypatch.setattr(stream, name, value)
    measured = stream.measure(exports=True)
    monkeypatch.setattr(stream, "_in_process", lambda asynchronous: measured)
    code, out, _ = run(capsys, "bench", "stream", "--json")
    assert code == 0
    found = json.loads(out)
    timings = found["microseconds_per_sample"].items()
    times = {name: t["median"] for name, t in timings if not isinstance(t, str)}
    for name in stream.DISPATCH:
        step = times[f"step, dispatch {name}"]
        assert times[f"extend, blocks of 4, dispatch {name}"] > 0
        for share, row in (
            ("share_of_an_empty_call", "empty call"),
            ("share_of_the_arithmetic", "steps within one program"),
        ):
            assert found[share][name] == pytest.approx(times[f"{row}, dispatch {name}"] / step)
    code, out, _ = run(capsys, "bench", "stream")
    assert "share of an empty call" in out


def test_bench_reports_ratios_the_machine_and_the_spread(capsys, monkeypatch):
    from fractal.bench import memory

    monkeypatch.setattr(memory, "BLOCK", 200)
    monkeypatch.setattr(memory, "STEPS", 5)
    monkeypatch.setattr(memory, "ORDERS", (64, 256))
    code, out, _ = run(capsys, "bench", "memory", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["provenance"]["machine"]["cores"] >= 1
    times = {name: t["median"] for name, t in found["microseconds_per_sample"].items()}
    for peer in ("solved", "precomputed"):
        ratio = times[f"dense, {peer}"] / times["block"]
        assert found[f"times_faster_than_dense_{peer}"] == pytest.approx(ratio)
    assert all(
        t["low"] <= t["median"] <= t["high"] for t in found["microseconds_per_sample"].values()
    )
    code, out, _ = run(capsys, "bench", "memory")
    assert "times faster than dense solved" in out
