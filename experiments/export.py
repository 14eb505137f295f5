"""Agreement, size and speed of one model exported to C, ONNX and StableHLO.

    fractal train listops --steps 200 --model.bidirectional False \
        --model.width 64 --model.depth 2 --out runs/export
    python -m experiments.export runs/export

writes benchmarks/export.json, from which the table of docs/export.md is generated.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

import fractal
from fractal.bench.exported import Stream, compiled_model, onnx_stream
from fractal.bench.timing import interleaved
from fractal.export import to_stablehlo
from fractal.nn import SequenceModel, Streaming

from . import code, runs

STEPS, SAMPLES, ROUNDS = 10_000, 256, 15


def main(run: pathlib.Path) -> None:
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    model = fractal.load(run / "model.safetensors")
    vocabulary = len(model.encoder.weight)
    tokens = np.random.default_rng(0).integers(0, vocabulary, STEPS).astype(np.int32)
    extended = jax.jit(SequenceModel.extend)(model, tokens, model.initial_state())[0]
    expected = np.asarray(extended)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compiled, onnx = compiled_model(model, folder), onnx_stream(model, folder)
        assert compiled is not None, "there is no C compiler"
        assert onnx is not None, "onnxruntime is not installed"
        (stablehlo,) = to_stablehlo(model, folder, prefix="net")
        streams: dict[str, Stream] = {
            "JAX, `Streaming.step`": _streaming(model),
            "C": compiled.run,
            "ONNX in onnxruntime": onnx,
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
        sizes = {
            "C": (folder / "net.h").stat().st_size,
            "ONNX in onnxruntime": (folder / "net-step.onnx").stat().st_size,
            "StableHLO in JAX": stablehlo.stat().st_size,
        }
        found = {
            "provenance": runs.provenance(),
            "setting": {
                "parameters": sum(leaf.size for leaf in jax.tree.leaves(model)),
                "steps": STEPS,
                "dtype": "float32",
            },
            "relative_error": error,
            "microseconds_per_step": {
                target: timing.scaled(1e6 / SAMPLES) for target, timing in timings.items()
            },
            "file_bytes": sizes,
            "state_bytes": compiled.state_bytes,
            "weight_bytes": compiled.weight_bytes,
            "code_bytes": _code_bytes(folder),
        }
    text = json.dumps(found, indent=2) + "\n"
    runs.write_whole(code.ROOT / "benchmarks" / "export.json", text.encode())


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


def _code_bytes(folder: pathlib.Path) -> int:
    """Bytes of machine code for this processor, optimized for size."""
    cc, size = shutil.which("cc"), shutil.which("size")
    assert cc is not None, "there is no C compiler"
    assert size is not None, "there is no program `size`"
    subprocess.run([cc, "-std=c99", "-Os", "-c", "net.c"], cwd=folder, check=True)
    done = subprocess.run([size, "-A", "net.o"], cwd=folder, capture_output=True, text=True)
    sections = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[2:] if line}
    return int(sections[".text"])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
