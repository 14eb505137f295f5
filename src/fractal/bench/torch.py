"""The PyTorch layer compared with the package `s5-pytorch` and with the JAX layer."""

# pyright: reportMissingImports=false

import importlib.util
import pathlib
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp

from .._allocator import keep_freed_memory
from .._extras import require
from .._provenance import provenance
from ..nn import FractalSSM
from .timing import Timing, interleaved

BATCH, LENGTH, WIDTH, MODES, LONG = 4, 2048, 128, 128, 16_384
ROUNDS, _PAUSE = 21, 0.05
_ORDER = 2 * MODES // 8
_S5 = "s5-pytorch"


def bench_torch() -> dict:
    """Milliseconds of the forward pass and with gradients of parameters and input, and ratios.

    Each pass is measured with pauses: threads of torch spin for a while after a call.
    """
    require("torch", "torch")
    import torch

    kept = keep_freed_memory()
    measured = {
        kind: interleaved(_calls(LENGTH, gradients) | _jax_calls(gradients), ROUNDS, _PAUSE)
        for kind, gradients in (("forward", False), ("forward + backward", True))
    }
    has_s5 = importlib.util.find_spec("s5") is not None
    names = ["ours", "ours, irregular steps", *([_S5] if has_s5 else [])]
    memory = {name: {"megabytes": _peak_memory(name)} for name in names}
    result = {
        "provenance": provenance(),
        "setting": {
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "keeps freed memory": kept,
            "batch": BATCH,
            "length": LENGTH,
            "width": WIDTH,
            "complex modes": MODES,
            "dtype": "float32",
            "rounds": ROUNDS,
        },
        "milliseconds": {
            kind: {name: timing.scaled(1e3) for name, timing in row.items()}
            for kind, row in measured.items()
        },
        "times_the_jax_layer": _ratios(measured, "ours", "ours in JAX"),
        "irregular_steps_over_constant": _ratios(measured, "ours, irregular steps", "ours"),
        f"memory_of_length_{LONG}": memory,
    }
    if has_s5:
        result["times_faster_than_s5_pytorch"] = _ratios(measured, _S5, "ours")
        result["memory_over_s5_pytorch"] = memory["ours"]["megabytes"] / memory[_S5]["megabytes"]
    return result


def _calls(length: int, gradients: bool) -> dict:
    """Calls of the layers in PyTorch, by name."""
    import torch

    from ..torch import FractalSSM as TorchSSM

    torch.manual_seed(0)
    signal = torch.randn(BATCH, length, WIDTH, requires_grad=True)
    weight = torch.randn(BATCH, length, WIDTH)
    dt = torch.linspace(0.5, 1.5, length)
    ours = TorchSSM(WIDTH, order=_ORDER)
    layers: dict[str, Any] = {"ours": (ours, lambda u: ours(u)[0])}
    layers["ours, irregular steps"] = (ours, lambda u: ours(u, dt=dt)[0])
    if importlib.util.find_spec("s5") is not None:
        from s5 import S5

        theirs = S5(WIDTH, MODES)
        layers[_S5] = (theirs, theirs)

    def call(layer, run):
        if not gradients:
            with torch.no_grad():
                return run(signal)
        layer.zero_grad()
        signal.grad = None
        return torch.sum(run(signal) * weight).backward()

    return {name: lambda layer=layer: call(*layer) for name, layer in layers.items()}


def _jax_calls(gradients: bool) -> dict:
    layer = FractalSSM(WIDTH, order=_ORDER, key=jax.random.key(0))
    u, weight = jax.random.normal(jax.random.key(1), (2, BATCH, LENGTH, WIDTH))

    def forward(layer, u):
        return jax.vmap(lambda u: layer(u)[0])(u)

    def loss(layer, u):
        return jnp.sum(forward(layer, u) * weight)

    run = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)) if gradients else forward)
    return {"ours in JAX": lambda: jax.block_until_ready(run(layer, u))}


def _peak_memory(name: str) -> float:
    """Megabytes that one gradient of a long sequence adds, in a process of its own (Linux)."""
    code = f"from fractal.bench.torch import print_peak_memory; print_peak_memory({name!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def print_peak_memory(name: str) -> None:
    """Print the growth of the peak memory of this process by one gradient."""
    short, call = _calls(LENGTH, True)[name], _calls(LONG, True)[name]
    short()  # what libraries allocate once
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    before = _status("VmRSS")
    call()
    print((_status("VmHWM") - before) / 1024)


def _status(key: str) -> int:
    """A size in kilobytes from the status of this process."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def _ratios(measured: dict[str, dict[str, Timing]], above: str, below: str) -> dict[str, float]:
    return {kind: row[above].median / row[below].median for kind, row in measured.items()}
