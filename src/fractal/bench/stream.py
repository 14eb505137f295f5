"""A stream, sample by sample and in blocks: time per sample, and the overhead of a call.

The same model exported to C and to ONNX is measured beside it, where there are a C compiler and
onnxruntime.

Each call is timed until its outputs are ready. By default JAX dispatches a computation to a thread
and returns at once; `jax_cpu_enable_async_dispatch=False` computes in the calling thread. The
setting is per process, so that each is measured in its own.
"""

import functools
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .._memory import OnlineMemory
from .._provenance import provenance
from ..nn import ModelState, SequenceModel, Streaming
from .exported import MissingTool, compiled_model, onnx_model
from .timing import interleaved

INPUTS, OUTPUTS, WIDTH, DEPTH = 8, 8, 64, 4
BLOCKS, SAMPLES, ROUNDS = (1, 16, 256), 256, 21
DISPATCH = {"in the calling thread": False, "asynchronous": True}
EXPORTS = {"C, exported": compiled_model, "onnxruntime, exported": onnx_model}


def bench_stream() -> dict:
    """Microseconds per sample of `Streaming`, of its parts and of alternatives.

    In place of its times an export that cannot run has the reason.
    """
    measured = {name: _in_process(value) for name, value in DISPATCH.items()}
    exported = measured["in the calling thread"]
    rows = {
        f"{row}, dispatch {name}": timing
        for name, found in measured.items()
        for row, timing in found["microseconds"].items()
        if row not in EXPORTS
    }
    rows |= {
        row: exported["microseconds"].get(row, exported["missing"].get(row)) for row in EXPORTS
    }
    medians = {
        name: {row: timing["median"] for row, timing in found["microseconds"].items()}
        for name, found in measured.items()
    }
    return {
        "provenance": provenance(),
        "setting": {
            "inputs": INPUTS,
            "outputs": OUTPUTS,
            "width": WIDTH,
            "depth": DEPTH,
            "pooling": "last",
            "dtype": "float32",
            "samples per round": SAMPLES,
            "rounds": ROUNDS,
        },
        "microseconds_per_sample": rows,
        "share_of_an_empty_call": {
            name: row["empty call"] / row["step"] for name, row in medians.items()
        },
        "share_of_the_arithmetic": {
            name: row["steps within one program"] / row["step"] for name, row in medians.items()
        },
        "times_faster_than_jit_of_the_model": {
            name: row["jit(SequenceModel.step)"] / row["step"] for name, row in medians.items()
        },
        "bytes": exported["bytes"],
    }


def _in_process(asynchronous: bool) -> dict[str, dict]:
    """Results of `measure` in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "fractal.bench.stream", *(["asynchronous"] if asynchronous else [])],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def measure(*, exports: bool) -> dict[str, dict]:
    """Microseconds per sample with the dispatch of this process; bytes and what is missing."""
    model = SequenceModel(
        INPUTS, OUTPUTS, width=WIDTH, depth=DEPTH, tokens=False, pooling="last",
        key=jax.random.key(0),
    )  # fmt: skip
    samples = np.random.default_rng(0).standard_normal((SAMPLES, INPUTS)).astype(np.float32)
    calls: dict[str, Callable[[], object]] = {"step": _steps(Streaming(model), samples)}
    for size in BLOCKS:
        blocks = samples.reshape(-1, size, INPUTS)
        calls[f"extend, blocks of {size}"] = _blocks(Streaming(model), blocks)
    calls |= {
        "empty call": _empty(Streaming(model), samples),
        "steps within one program": _scan(model, samples),
        "jit(SequenceModel.step)": _jit(model, samples),
        "OnlineMemory.push": _memory(samples),
    }
    sizes: dict[str, dict[str, int]] = {"JAX": _bytes(model)}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in EXPORTS.items() if exports else ():
            try:
                made = make(model, pathlib.Path(folder))
            except MissingTool as error:
                missing[name] = str(error)
            else:
                calls[name] = functools.partial(made.run, samples)
                sizes[name] = made.bytes
        timings = interleaved(calls, ROUNDS)
    microseconds = {name: timing.scaled(1e6 / SAMPLES) for name, timing in timings.items()}
    return {"microseconds": microseconds, "bytes": sizes, "missing": missing}


def _bytes(model: SequenceModel) -> dict[str, int]:
    parts = {"state": model.initial_state(), "weights": model}
    return {name: sum(x.nbytes for x in jax.tree.leaves(part)) for name, part in parts.items()}


def _steps(stream: Streaming, samples: np.ndarray) -> Callable[[], None]:
    def run():
        for sample in samples:
            stream.step(sample).block_until_ready()

    return run


def _blocks(stream: Streaming, blocks: np.ndarray) -> Callable[[], None]:
    def run():
        for block in blocks:
            stream.extend(block).block_until_ready()

    return run


def _empty(stream: Streaming, samples: np.ndarray) -> Callable[[], None]:
    """Calls with the arguments and results of `Streaming.step`, but almost no arithmetic."""
    packed = jax.tree.map(jnp.copy, stream._packed)

    @functools.partial(jax.jit, donate_argnums=1)
    def call(x, packed):
        return x[:OUTPUTS], jax.tree.map(lambda vector: vector + vector.dtype.type(1), packed)

    def run():
        nonlocal packed
        for sample in samples:
            output, packed = call(sample, packed)
            output.block_until_ready()

    return run


def _scan(model: SequenceModel, samples: np.ndarray) -> Callable[[], object]:
    """All steps within one compiled program: no dispatch."""

    @jax.jit
    def call(state, samples):
        def step(state, x):
            output, state = model.step(x, state)
            return state, output

        return jax.lax.scan(step, state, samples)

    state = model.initial_state()
    return lambda: jax.block_until_ready(call(state, samples))


def _jit(model: SequenceModel, samples: np.ndarray) -> Callable[[], None]:
    step = jax.jit(SequenceModel.step)
    state: ModelState = model.initial_state()

    def run():
        nonlocal state
        for sample in samples:
            output, state = step(model, sample, state)
            output.block_until_ready()

    return run


def _memory(samples: np.ndarray) -> Callable[[], None]:
    memory = OnlineMemory(0.9, 64, channels=INPUTS)

    def run():
        for sample in samples:
            memory.push(sample)

    return run


if __name__ == "__main__":
    asynchronous = sys.argv[1:] == ["asynchronous"]
    jax.config.update("jax_cpu_enable_async_dispatch", asynchronous)
    print(json.dumps(measure(exports=not asynchronous)))
