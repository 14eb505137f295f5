import json
import subprocess
import sys

import numpy as np
import pytest

from commands import run

SERIES = "time,a,b\n" + "".join(
    f"2020-{k:05d},{np.sin(k / 40):.6f},{k % 7}\n" for k in range(12_000)
)


@pytest.fixture
def series(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text(SERIES)
    return path


def test_verify_prints_a_verdict_for_each_claim(capsys):
    code, out, _ = run(capsys, "verify")
    assert code == 0
    assert "refuted" in out
    assert "confirmed" in out
    assert "10 holds, 0 fails" in out


@pytest.mark.slow
def test_verify_json_is_one_object_and_lists_the_figures(capsys, tmp_path):
    code, out, err = run(capsys, "verify", "--json", "--figures", tmp_path / "figures")
    found = json.loads(out)
    assert code == 0
    assert found["own_properties_hold"] is True
    assert {"source", "statement", "published", "measured", "value", "verdict"} == set(
        found["claims"][0]
    )
    assert len(found["condition_numbers"]) == 24
    assert all((tmp_path / "figures" / f"{name}.png").exists() for name in ("measures", "recall"))
    assert len(found["figures"]) == 5
    assert "drew" in err


def test_verify_exits_1_when_a_property_of_ours_fails(capsys, monkeypatch):
    from fractal.cli import verify
    from fractal.report.claims import of_ours

    monkeypatch.setattr(verify, "verify", lambda: [of_ours("here", "x", "1", "2", 2.0, False)])
    code, out, _ = run(capsys, "verify")
    assert code == 1
    assert "1 fails" in out


def test_memory_prints_errors_for_alpha_and_legs(capsys, series):
    code, out, err = run(capsys, "memory", series, "--alpha", "0.9", "--order", "32", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["samples"] == 12_000
    rows = [(row["column"], row["memory"]) for row in found["columns"]]
    assert rows == [("a", "α = 0.9"), ("a", "LegS"), ("b", "α = 0.9"), ("b", "LegS")]
    smooth = found["columns"][0]["error_by_age"]
    assert len(smooth) == 5
    assert all(error is not None for error in smooth.values())
    assert "time" in err
    code, out, _ = run(capsys, "memory", series)
    assert code == 0
    assert "12000 samples" in out
    assert "LegS" in out


def test_memory_errors_equal_a_direct_computation(capsys, series):
    from fractal import theory

    code, out, _ = run(capsys, "memory", series, "--alpha", "0.0", "--order", "16", "--json")
    u = np.array([float(line.split(",")[2]) for line in SERIES.splitlines()[1:]])
    ages = 1 - (np.arange(len(u)) + 0.5) / len(u)
    stored = theory.recall(theory.LegS(), theory.project(theory.LegS(), u, 16), ages)
    expected = np.sqrt(np.mean((stored - u)[ages >= 0.1] ** 2)) / u.std()
    assert code == 0
    (_, row) = json.loads(out)["columns"]
    assert (row["column"], row["memory"]) == ("b", "LegS")
    assert row["error_by_age"]["0.1 … 1"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_memory_draws_the_reconstruction(capsys, series, tmp_path, suffix):
    plot = tmp_path / f"plot{suffix}"
    code, _, err = run(capsys, "memory", series, "--plot", plot)
    assert code == 0
    assert plot.stat().st_size > 1000
    assert str(plot) in err


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("1\n2\n3\n", ["column 1"]),
        ("1;2\n3;4\n", ["column 1", "column 2"]),
        ("x\ty\n1\t2\n3\t4\n", ["x", "y"]),
        ("﻿x,y\r\n1,a\r\n2,b\r\n", ["x"]),
        ('"a, b",c\n1,2\n\n3,4\n', ["a, b", "c"]),
        ("x,\n1,5\n2,6\n", ["x", "column 2"]),
        ("const\n5\n5\n5\n", ["const"]),
        ("2020-01-01,1.5\n2020-01-02,2.5\n", ["column 2"]),
        ("a,a\n1,2\n3,4\n", ["a", "a (2)"]),
    ],
    ids=[
        "one column",
        "semicolons",
        "tabs",
        "BOM and text",
        "quotes and blank",
        "unnamed",
        "flat",
        "dates without heading",
        "same name twice",
    ],
)
def test_memory_reads_what_programs_write(capsys, tmp_path, content, columns):
    path = tmp_path / "file.csv"
    path.write_bytes(content.encode())
    code, out, _ = run(capsys, "memory", path, "--order", "4", "--json")
    assert code == 0
    assert [row["column"] for row in json.loads(out)["columns"]][::2] == columns


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"\n\n  \n", "is empty"),
        (b"a,b\n", "has no rows of data"),
        (b"a,b\n1,2\n", "has 1 row of data"),
        (b"1,2\n", "has 1 row of data"),
        (b"a,b\n1,2\n3,oops\n", "line 3, column 'b': 'oops' is not a number"),
        (b"a,b\n1,2\n3,nan\n", "line 3, column 'b': 'nan' is not a finite number"),
        (b"a,b\n1,2\n3,inf\n", "line 3, column 'b': 'inf' is not a finite number"),
        (b"a,b\n1,2\n3,\n", "line 3, column 'b': no value"),
        (b"oops,2\n3,4\n5,6\n", "line 1, column 'column 1': 'oops' is not a number"),
        (b",2\n3,4\n5,6\n", "line 1, column 'column 1': no value"),
        (b"a,b\n1,2\n3\n", "line 3: 1 columns, but line 1 has 2"),
        (b"a,b\nx,y\nz,w\n", "no column of numbers; its columns are a, b"),
        (b"a\n\xff\xfe\n", "is not a text file in UTF-8"),
        (b"a\n1e200\n2e200\n", "too large to square"),
        (b'a\n"1\n2\n' + b"x" * 200_000, "is not CSV"),
    ],
)
def test_memory_rejects_a_bad_file_in_one_line(capsys, tmp_path, content, complaint):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    code, out, err = run(capsys, "memory", path)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.startswith("fractal: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "verify, memory, bench"),
        (["verfy"], "verify"),
        (["verify", "--figurs", "x"], "--figures"),
        (["memory"], "FILE must be given"),
        (["memory", "absent.csv"], "cannot read absent.csv"),
        (["memory", "."], "cannot read"),
        (["memory", "{series}", "--alpha", "much"], "--alpha"),
        (["memory", "{series}", "--alpha", "0.99"], "alpha must lie in [0, 0.95]"),
        (["memory", "{series}", "--alpha", "nan"], "alpha must lie in [0, 0.95]"),
        (["memory", "{series}", "--order", "7"], "order must be even"),
        (["memory", "{series}", "--plot", "x.gif"], ".png, .pdf or .svg"),
        (["memory", "{series}", "--plot", "absent/x.png"], "cannot write absent/x.png"),
        (["verify", "--figures", "{series}"], "cannot write figures"),
        (["bench", "everything"], "memory"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(capsys, series, arguments, complaint):
    code, out, err = run(capsys, *(a.replace("{series}", str(series)) for a in arguments))
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_a_constant_column_is_recalled_without_error(capsys, tmp_path):
    path = tmp_path / "flat.csv"
    path.write_text("x\n" + "0.1\n" * 999)
    _, out, _ = run(capsys, "memory", path, "--json")
    errors = [row["error_by_age"]["0.1 … 1"] for row in json.loads(out)["columns"]]
    assert max(errors) < 1e-9


def test_column_names_are_printed_as_they_are(capsys, tmp_path):
    path = tmp_path / "markup.csv"
    path.write_text("[red]x[/red]\n1\n2\n")
    assert "[red]x[/red]" in run(capsys, "memory", path)[1]


def test_a_series_may_come_through_a_pipe():
    done = subprocess.run(
        [sys.executable, "-m", "fractal.cli", "memory", "/dev/stdin", "--order", "4"],
        input="a\n1\n2\n3\n", capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert "3 samples" in done.stdout


@pytest.mark.parametrize(
    "arguments", ["verify", pytest.param("verify --json", marks=pytest.mark.slow)]
)
def test_a_closed_pipe_is_not_a_failure(arguments):
    command = f"{sys.executable} -m fractal.cli {arguments} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [["verify"], ["memory"], ["bench"]])
def test_help_fits_a_screen_and_shows_an_example(command):
    done = subprocess.run(
        [sys.executable, "-m", "fractal.cli", *command, "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Example: fractal" in done.stdout
    assert len(done.stdout.splitlines()) <= 40


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
    import numpy as np

    case = small_step.CASES["image-mini"]
    x = jax.random.normal(jax.random.key(0), (case.length, 1))
    one, two = (small_step._model(case, name)[0] for name in ("s5", "s5, associative"))
    np.testing.assert_allclose(one(x), two(x), atol=1e-4)


@pytest.mark.slow
def test_the_s5_scan_of_the_benchmark_is_a_plain_recurrence():
    """The peer must compute the layer that it stands for."""
    import jax
    import numpy as np

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
    measured = stream.measure()
    monkeypatch.setattr(stream, "_in_process", lambda asynchronous: measured)
    code, out, _ = run(capsys, "bench", "stream", "--json")
    assert code == 0
    found = json.loads(out)
    times = {name: t["median"] for name, t in found["microseconds_per_sample"].items()}
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
