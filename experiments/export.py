"""Agreement, size and speed of one trained model exported to C, ONNX and StableHLO.

`python -m experiments.export` trains a causal model on ListOps, the task of `make train`, in
runs/experiments (once), and writes benchmarks/export.json, from which the table of docs/export.md
is generated.
"""

import json
import pathlib
import tempfile
from collections.abc import Callable

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from fractal.bench.exported import Stream, compiled_model, onnx_model
from fractal.bench.timing import interleaved
from fractal.export import to_stablehlo
from fractal.nn import SequenceModel, Streaming

from . import code, runs
from .cases import provenance, write_whole

TRAINING = 300
STEPS, SAMPLES, ROUNDS = 10_000, 256, 15
CHANGES = {"bidirectional": False, "width": 64, "depth": 2}


def measure() -> None:
    """Write the benchmark."""
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    run = runs.trained(runs.settings("listops", steps=TRAINING, **CHANGES))
    model = run.model
    vocabulary = len(model.encoder.weight)
    tokens = np.random.default_rng(0).integers(0, vocabulary, STEPS).astype(np.int32)
    extended = jax.jit(SequenceModel.extend)(model, tokens, model.initial_state())[0]
    expected = np.asarray(extended)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compiled, onnx = compiled_model(model, folder), onnx_model(model, folder)
        (stablehlo,) = to_stablehlo(model, folder, prefix="net")
        streams: dict[str, Stream] = {
            "JAX, `Streaming.step`": _streaming(model),
            "C": compiled.run,
            "ONNX in onnxruntime": onnx.run,
            "StableHLO in JAX": _loaded(stablehlo),
        }
        error = {
            target: float(np.abs(stream(tokens) - expected).max() / np.abs(expected).max())
            for target, stream in streams.items()
        }
        calls: dict[str, Callable[[], object]] = {
            target: lambda stream=stream: stream(tokens[:SAMPLES])
            for target, stream in streams.items()
        }
        timings = interleaved(calls, ROUNDS)
        found = {
            "provenance": provenance(),
            "setting": {
                "task": "listops",
                "training steps": TRAINING,
                **CHANGES,
                "test accuracy": run.scores["test_accuracy"],
                "parameters": run.scores["parameters"],
                "steps": STEPS,
                "dtype": "float32",
            },
            "relative_error": error,
            "microseconds_per_step": {
                target: timing.scaled(1e6 / SAMPLES) for target, timing in timings.items()
            },
            "file_bytes": {
                "C": compiled.bytes["file"],
                "ONNX in onnxruntime": onnx.bytes["file"],
                "StableHLO in JAX": stablehlo.stat().st_size,
            },
            "state_bytes": compiled.bytes["state"],
            "weight_bytes": compiled.bytes["weights"],
            "code_bytes": compiled.bytes["code"],
        }
    text = json.dumps(found, indent=2) + "\n"
    write_whole(code.ROOT / "benchmarks" / "export.json", text.encode())


def _streaming(model: SequenceModel) -> Stream:
    stream, initial = Streaming(model), model.initial_state()

    def run(tokens):
        stream.state = initial
        # Arrays without axes, which take less time than NumPy's scalars.
        return np.stack([np.asarray(stream.step(tokens[k, ...])) for k in range(len(tokens))])

    return run


def _loaded(path: pathlib.Path) -> Stream:
    """The steps of a file, as docs/export.md reads it."""
    step = jax.export.deserialize(bytearray(path.read_bytes()))
    shapes = jax.tree.unflatten(step.in_tree, step.in_avals)[0][1]
    call, dt = jax.jit(step.call), jnp.ones(1)

    def run(tokens):
        state = {name: jnp.zeros((1, *one.shape[1:]), one.dtype) for name, one in shapes.items()}
        outputs = []
        for token in tokens[:, None]:
            output, state = call(token, state, dt)
            outputs.append(np.asarray(output[0]))
        return np.stack(outputs)

    return run


if __name__ == "__main__":
    runs.main(measure)
