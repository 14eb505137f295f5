"""Run folders as training writes them, with numbers that are easy to check."""

import json
import pathlib

import numpy as np
import safetensors.numpy

PROVENANCE = {
    "commit": "0123456789abcdef", "date": "2026-01-02T03:04:05+00:00",
    "versions": {"jax": "0.10"}, "machine": {"cores": 2}, "command": "fractal train listops",
}  # fmt: skip


def config(task="listops", model="fractal", seed=0, **changes):
    found = {
        "data": {"task": task, "preset": "mini", "folder": None, "validation": "held-out"},
        "model": {"name": model, "width": 32, "options": {}},
        "optimizer": {"lr": 0.003},
        "steps": 40,
        "seed": seed,
    }
    for name, value in changes.items():
        part, _, key = name.partition("__")
        found[part] = {**found[part], key: value} if key else value
    return found


def write_run(
    folder: pathlib.Path,
    settings: dict,
    *,
    accuracy: float | None = 0.5,
    logits: np.ndarray | None = None,
    targets: np.ndarray | None = None,
) -> pathlib.Path:
    """A finished run, or, without accuracy, one that stopped at step 20."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(settings))
    end = 20 if accuracy is None else 40
    lines: list[dict] = [{"step": step, "loss": 3 - step / 20} for step in range(10, end + 1, 10)]
    lines.insert(2, {"step": 20, "validation_accuracy": 0.25, "validation_loss": 2.0})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if accuracy is not None:
        result = {
            "parameters": 1234, "seconds": 5.5, "examples_per_second": 100.0,
            "validation_accuracy": accuracy + 0.01, "test_loss": 1.5, "test_accuracy": accuracy,
            "provenance": PROVENANCE,
        }  # fmt: skip
        (folder / "result.json").write_text(json.dumps(result))
        (folder / "model.safetensors").write_bytes(b"x" * 4321)
    if logits is not None and targets is not None:
        tensors = {"logits": logits.astype(np.float32), "targets": targets}
        metadata = {"format": "fractal.predictions", "version": "1"}
        safetensors.numpy.save_file(tensors, folder / "predictions.safetensors", metadata)
    return folder
