"""`fractal fit`, `fractal predict` and `fractal forecast` on small files."""

import csv
import json

import numpy as np
import pytest

from fractal.cli import main


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_a_fitted_classifier_predicts_the_labels_of_a_file(capsys, tmp_path):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    lines = ["label," + ",".join(f"x{i}" for i in range(12))]
    for case in range(30):
        slope = 1 - 2 * (case % 2)
        values = slope * np.arange(12) + rng.normal(size=12)
        lines.append(("up", "down")[case % 2] + "," + ",".join(f"{x:.3f}" for x in values))
    path, out = tmp_path / "cases.csv", tmp_path / "run"
    path.write_text("\n".join(lines))
    code, printed, _ = run(capsys, "fit", path, "--epochs", 2, "--out", out, "--json")
    assert code == 0
    assert json.loads(printed)["test_cases"] == 6
    names = {"config.json", "index.html", "metrics.jsonl", "model.safetensors", "result.json"}
    assert names <= {file.name for file in out.iterdir()}
    code, printed, said = run(capsys, "predict", out, path)
    rows = list(csv.DictReader(printed.splitlines()))
    assert (code, len(rows)) == (0, 30)
    assert all(
        float(row["p(up)"]) + float(row["p(down)"]) == pytest.approx(1, 1e-4) for row in rows
    )
    right = np.mean([row["prediction"] == ("up", "down")[i % 2] for i, row in enumerate(rows)])
    assert f"accuracy: {right:.4g}" in said


def test_a_forecast_continues_the_times_of_the_file(capsys, tmp_path):
    pytest.importorskip("sklearn")
    path, out = tmp_path / "load.csv", tmp_path / "run"
    hours = np.arange(240)
    load = 10 + 3 * np.sin(2 * np.pi * hours / 24)
    pairs = zip(hours, load, strict=True)
    rows = [f"2024-01-{1 + h // 24:02} {h % 24:02}:00;{x:.3f}" for h, x in pairs]
    path.write_text("date;load\n" + "\n".join(rows).replace(".", ","))
    arguments = ("--horizon", 6, "--period", 24, "--steps", 0, "--out", out)
    code, printed, said = run(capsys, "forecast", path, *arguments)
    assert code == 0
    assert "semicolon-separated, a header, decimal commas" in said
    found = list(csv.DictReader(printed.splitlines()))
    assert [row["time"] for row in found[:2]] == ["2024-01-11 00:00:00", "2024-01-11 01:00:00"]
    truth = 10 + 3 * np.sin(2 * np.pi * np.arange(240, 246) / 24)
    np.testing.assert_allclose([float(row["forecast"]) for row in found], truth, atol=0.05)
    assert (out / "forecast.csv").read_text() == printed
    assert json.loads((out / "result.json").read_text())["test_r2"] > 0.99
