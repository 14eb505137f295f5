"""The layer compared with a lower bound and with the scan of S5.

Lower bound: the two matrix products, input to states and states to output, without the scan.
S5 scan: `jax.lax.associative_scan` over complex64, with decay factors repeated for every step.
"""

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._allocator import keep_freed_memory
from .._provenance import provenance
from ..nn import FractalSSM
from .timing import Timing, interleaved

BATCH, LENGTH, WIDTH, MODES, LONG = 4, 2048, 128, 128, 16_384
ROUNDS, _PAUSE = 21, 0.05

Forward = Callable[[Any, Array], Array]


def bench_layer() -> dict:
    """Milliseconds of the forward pass and with gradients of parameters and input, and ratios."""
    kept = keep_freed_memory()
    candidates = _candidates(LENGTH)
    u, weight = _signals(LENGTH)
    measured = {}
    for kind, build in (("forward", _forward), ("forward + backward", _gradients)):
        calls = {}
        for name, (parameters, forward) in candidates.items():
            call = build(forward)
            calls[name] = lambda call=call, p=parameters: jax.block_until_ready(call(p, u, weight))
        measured[kind] = interleaved(calls, ROUNDS)
    long = {name: _long(name) for name in ("ours", "S5 scan")}
    against_torch = _against_torch(candidates["ours"], u, weight)
    return {
        "provenance": provenance(),
        "setting": {
            "backend": jax.default_backend(),
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
            for kind, row in {
                **measured,
                **{f"{kind}, beside torch": row for kind, row in (against_torch or {}).items()},
            }.items()
        },
        "times_the_lower_bound": _ratios(
            measured, lambda row: row["ours"], lambda row: row["lower bound"]
        ),
        "times_faster_than_s5_scan": _ratios(
            measured, lambda row: row["S5 scan"], lambda row: row["ours"]
        ),
        "times_faster_than_s5_pytorch": "not installed: pip install 'fractal-ssm[bench]'"
        if against_torch is None
        else _ratios(against_torch, lambda row: row["s5-pytorch"], lambda row: row["ours"]),
        "irregular_steps_over_constant": _ratios(
            measured, lambda row: row["ours, irregular steps"], lambda row: row["ours"]
        ),
        "scale_invariant_over_constant": _ratios(
            measured, lambda row: row["ours, scale-invariant"], lambda row: row["ours"]
        ),
        "selective_over_constant": _ratios(
            measured, lambda row: row["ours, selective"], lambda row: row["ours"]
        ),
        "bidirectional_over_unidirectional": _ratios(
            measured, lambda row: row["ours, bidirectional"], lambda row: row["ours"]
        ),
        f"length_{LONG}": long,
        "time_of_long_over_linear": long["ours"]["milliseconds"]
        / long["ours"]["milliseconds_of_the_short_one"]
        * LENGTH
        / LONG,
        "memory_over_s5_scan": long["ours"]["megabytes"] / long["S5 scan"]["megabytes"],
    }


def _candidates(length: int) -> dict[str, tuple[dict | FractalSSM, Forward]]:
    def ours(dt=None, **options):
        ssm = FractalSSM(WIDTH, order=2 * MODES // 8, key=jax.random.key(0), **options)
        return ssm, jax.vmap(lambda ssm, u: ssm(u, dt=dt)[0], in_axes=(None, 0))

    keys = jax.random.split(jax.random.key(0), 5)
    products = {
        "B": jax.random.normal(keys[0], (2 * MODES, WIDTH)) / WIDTH**0.5,
        "C": jax.random.normal(keys[1], (WIDTH, 2 * MODES)) / MODES**0.5,
    }
    s5 = {
        "rate": -0.5 * jnp.ones(MODES),
        "frequency": jax.random.uniform(keys[2], (MODES,), maxval=100.0),
        "log_dt": jax.random.uniform(keys[3], (MODES,), minval=-7.0, maxval=-2.3),
        "B": jax.random.normal(keys[0], (MODES, WIDTH, 2)) / WIDTH**0.5,
        "C": jax.random.normal(keys[1], (WIDTH, MODES, 2)) / MODES**0.5,
        "D": jax.random.normal(keys[4], (WIDTH,)),
    }
    return {
        "lower bound": (products, _products),
        "ours": ours(),
        "ours, irregular steps": ours(dt=jnp.linspace(0.5, 1.5, length)),
        "ours, scale-invariant": ours(clock="scale-invariant"),
        "ours, selective": ours(selective=True),
        "ours, bidirectional": ours(bidirectional=True),
        "S5 scan": (s5, jax.vmap(_s5, in_axes=(None, 0))),
    }


def _products(p: dict, u: Array) -> Array:
    return (u @ p["B"].T) @ p["C"].T


def _s5(p: dict, u: Array) -> Array:
    """S5's layer on a single sequence, written from its published description."""
    rates = jax.lax.complex(p["rate"], p["frequency"])
    gate = jnp.exp(rates * jnp.exp(p["log_dt"]).astype(rates.dtype))
    B, C = (jax.lax.complex(pairs[..., 0], pairs[..., 1]) for pairs in (p["B"], p["C"]))
    B *= ((gate - 1) / rates)[:, None]
    gates = gate[None] * jnp.ones((len(u), len(gate)), gate.dtype)
    inputs = jax.vmap(lambda u: B @ u.astype(B.dtype))(u)

    def join(earlier, later):
        return later[0] * earlier[0], later[0] * earlier[1] + later[1]

    _, x = jax.lax.associative_scan(join, (gates, inputs))
    return jax.vmap(lambda x, u: 2 * (C @ x).real + p["D"] * u)(x, u)


def _signals(length: int) -> tuple[Array, Array]:
    one, two = jax.random.split(jax.random.key(1))
    return (
        jax.random.normal(one, (BATCH, length, WIDTH)),
        jax.random.normal(two, (BATCH, length, WIDTH)),
    )


def _forward(forward: Forward):
    return jax.jit(lambda p, u, weight: forward(p, u))


def _gradients(forward: Forward):
    return jax.jit(
        jax.value_and_grad(lambda p, u, weight: jnp.sum(forward(p, u) * weight), argnums=(0, 1))
    )


def _long(name: str) -> dict[str, float]:
    """Forward and backward of a long sequence: compile time, run time, memory."""
    times = {}
    for length in (LENGTH, LONG):
        parameters, forward = _candidates(length)[name]
        u, weight = _signals(length)
        start = time.perf_counter()
        call = _gradients(forward).lower(parameters, u, weight).compile()
        compiled = time.perf_counter() - start
        times[length] = lambda call=call, p=parameters, u=u, weight=weight: jax.block_until_ready(
            call(p, u, weight)
        )
    timings = interleaved({str(length): run for length, run in times.items()}, rounds=9)
    memory: Any = call.memory_analysis()
    return {
        "compile_seconds": compiled,
        "milliseconds_of_the_short_one": timings[str(LENGTH)].median * 1e3,
        "milliseconds": timings[str(LONG)].median * 1e3,
        "megabytes": (memory.temp_size_in_bytes + memory.output_size_in_bytes) / 2**20,
    }


def _against_torch(
    ours: tuple[dict | FractalSSM, Forward], u: Array, weight: Array
) -> dict[str, dict[str, Timing]] | None:
    """Ours and the PyPI package `s5-pytorch`, if installed (extra `bench`).

    Measured apart from the others and with pauses: torch's threads spin for a while after a call.
    """
    if importlib.util.find_spec("s5") is None or importlib.util.find_spec("torch") is None:
        return None
    import torch  # pyright: ignore[reportMissingImports]
    from s5 import S5  # pyright: ignore[reportMissingImports]

    layer = S5(WIDTH, MODES)
    signal = torch.randn(BATCH, LENGTH, WIDTH, requires_grad=True)
    target = torch.randn(BATCH, LENGTH, WIDTH)

    def forward():
        with torch.no_grad():
            return layer(signal)

    def backward():
        layer.zero_grad()
        signal.grad = None
        torch.sum(layer(signal) * target).backward()

    parameters, run = ours
    timings = {}
    for kind, build, theirs in (
        ("forward", _forward, forward),
        ("forward + backward", _gradients, backward),
    ):
        call = build(run)
        candidates = {
            "ours": lambda call=call: jax.block_until_ready(call(parameters, u, weight)),
            "s5-pytorch": theirs,
        }
        timings[kind] = interleaved(candidates, ROUNDS, _PAUSE)
    return timings


def _ratios(measured: dict, above, below) -> dict[str, float]:
    return {kind: above(row).median / below(row).median for kind, row in measured.items()}
