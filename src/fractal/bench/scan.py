"""The methods of `linear_scan` by length and width, on which `method="auto"` is based."""

import functools
import itertools

import jax
import jax.numpy as jnp

from .._provenance import provenance
from ..nn import linear_scan
from .timing import interleaved

LENGTHS = (4, 16, 64, 256, 2048, 16384)
METHODS = ("sequential", "associative", "chunked")
SIZES = ((4, 128), (1, 16))  # batch and modes


def bench_scan() -> dict:
    """Milliseconds for a batch of complex scans, forward and with gradients of a, b and h0."""
    measured = {}
    for (batch, modes), length in itertools.product(SIZES, LENGTHS):
        arguments = _arguments(batch, modes, length)
        for kind, build in (("forward", _forward), ("forward + backward", _gradients)):
            calls = {
                method: functools.partial(_wait, jax.jit(build(method)), *arguments)
                for method in METHODS
            }
            timings = interleaved(calls)
            measured[f"{kind}, {batch} × {modes} modes, L = {length}"] = {
                method: timing.scaled(1e3) for method, timing in timings.items()
            }
    return {
        "provenance": provenance(),
        "setting": {
            "dtype": "complex64",
            "decay factors": "constant",
            "backend": jax.default_backend(),
        },
        "milliseconds": measured,
        "fastest": {
            name: min(row, key=lambda method: row[method]["median"])
            for name, row in measured.items()
        },
    }


def _arguments(batch: int, modes: int, length: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    keys = jax.random.split(jax.random.key(0), 3)
    a = 0.99 * jnp.exp(1j * jax.random.uniform(keys[0], (modes,)).astype(jnp.complex64))
    b = jax.random.normal(keys[1], (batch, length, modes), jnp.complex64)
    return a, b, jax.random.normal(keys[2], (batch, modes), jnp.complex64)


def _forward(method: str):
    scan = functools.partial(linear_scan, method=method)
    return jax.vmap(scan, in_axes=(None, 0, 0))


def _gradients(method: str):
    def loss(a, b, h0):
        return jnp.sum(jnp.abs(_forward(method)(a, b, h0)) ** 2)

    return jax.grad(loss, argnums=(0, 1, 2))


def _wait(call, *arguments):
    return jax.block_until_ready(call(*arguments))
