"""Random filters of the filter bank, and the share of time in which their outputs are high.

A filter reads a random combination of the inputs and has one mode dz/ds = −λ z + u, where λ is
an eigenvalue of a random bank block times a random step size. Its output is the part of z that
vanishes for a constant input, whose response is u/λ: it is the real part of i λ z/|λ|.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .._spectra import spectrum

_FURTHER = 2  # mean number of inputs that a filter reads besides one
_PART = 8  # steps whose gates are computed at a time
_PAST = 1e9  # elapsed logarithmic time of a first sample, which extends into the past


class Filters(NamedTuple):
    """Decay and rotation of λ, and the weights of the inputs, for each filter."""

    decay: Float[Any, "*cases filters"]
    rotation: Float[Any, "*cases filters"]
    weights: Float[Any, "*cases inputs filters"]

    def of_cases(self, rows: Int[np.ndarray, "cases filters"]) -> "Filters":
        """Filters of its own for each case, with an axis of cases before the others."""
        weights = np.moveaxis(self.weights[:, rows], 0, 1)
        return Filters(self.decay[rows], self.rotation[rows], weights)


def draw_filters(
    rng: np.random.Generator,
    count: int,
    groups: Sequence[np.ndarray],
    alphas: Sequence[float],
    orders: Sequence[int],
    clock: str,
    length: float,
) -> Filters:
    """`count` filters. The groups of inputs and the alphas take turns, all else is random.

    **Arguments:**

    - `groups`: indices of inputs; a filter reads inputs of one group.
    - `length`: duration of a typical series: the slowest filters reach as far.
    """
    blocks = [[spectrum("normal", alpha, order).rates for order in orders] for alpha in alphas]
    places = np.arange(count) // len(groups) % len(alphas)
    rates = np.array([rng.choice(blocks[i][rng.integers(len(orders))]) for i in places])
    length = max(length, 2.0)
    if clock == "uniform":  # up to half a turn per sample
        slowest, fastest = 2 / length, np.minimum(np.pi / np.imag(rates), 1 / np.real(rates))
    else:  # … per sample at the end of the series
        slowest, fastest = 0.3, length / 2 * np.minimum(np.pi / np.imag(rates), 1.0)
    low, high = np.log(np.minimum(slowest, fastest)), np.log(fastest)
    rates = rates * np.exp(rng.uniform(low, high))
    weights = np.zeros((1 + max(int(group.max()) for group in groups), count))
    for i in range(count):
        group = groups[i % len(groups)]
        read = rng.permutation(group)[: 1 + rng.binomial(len(group) - 1, _share(len(group) - 1))]
        weights[read, i] = rng.normal(size=len(read))
    return Filters(*(one.astype(np.float32) for one in (np.real(rates), np.imag(rates), weights)))


def _share(others: int) -> float:
    return min(1.0, _FURTHER / others) if others else 0.0


@functools.partial(jax.jit, static_argnames="clock")
def outputs(
    filters: Filters,
    clock: str,
    values: Float[Any, "cases time inputs"],
    dt: Float[Any, "cases time"] | None,
    lengths: Int[Any, " cases"],
) -> Float[Array, "cases time filters"]:
    """The outputs of the filters at each step; every case has filters of its own."""

    def of_case(own, values, dt, length):
        return _scan(own, clock, values, dt, length, None, lambda _, y, __: (None, y))[1]

    return jax.vmap(of_case)(filters, values, dt, lengths)


@functools.partial(jax.jit, static_argnames="clock")
def shares_above(
    thresholds: Float[Any, "filters thresholds"],
    filters: Filters,
    clock: str,
    values: Float[Any, "cases time inputs"],
    dt: Float[Any, "cases time"] | None,
    lengths: Int[Any, " cases"],
) -> Float[Array, "cases filters thresholds"]:
    """The share of the time of a case in which the output of a filter exceeds a threshold.

    **Arguments:**

    - `dt`: durations of the samples; 1 if None.
    - `lengths`: number of samples of each case; the rest is padding.
    """

    levels = jnp.transpose(thresholds)  # filters last: loops over them are vectorized

    def add(total, y, duration):
        return total + jnp.where(y[None] > levels, duration, 0.0), None

    def of_case(values, dt, length):
        start = jnp.zeros(levels.shape)
        total, _ = _scan(filters, clock, values, dt, length, start, add)
        return total.T / _durations(values, dt, length).sum()

    return jax.vmap(of_case)(values, dt, lengths)


def _scan(
    filters: Filters, clock: str, values: Any, dt: Any, length: Any, start: Any, read: Callable
) -> tuple[Any, Any]:
    """Run `read(carry, output, duration)` over the steps of one case.

    **Returns:** the last carry, and all that `read` emits.
    """
    decay, rotation, weights = filters
    unit = jnp.hypot(decay, rotation)

    def step(carry, inputs):
        (real, imaginary), kept = carry
        values, duration, gate = inputs
        u = values @ weights
        real, imaginary = (
            gate[0] * real - gate[1] * imaginary + gate[2] * u,
            gate[0] * imaginary + gate[1] * real + gate[3] * u,
        )
        kept, emitted = read(kept, -(decay * imaginary + rotation * real) / unit, duration)
        return ((real, imaginary), kept), emitted

    zero = jnp.zeros(decay.shape)
    first = (zero, zero), start
    steps, elapsed = (values, _durations(values, dt, length)), _elapsed(clock, len(values), dt)
    gate = functools.partial(_gate, decay, rotation)
    if elapsed is None:
        constant = gate(1.0)
        (_, kept), emitted = jax.lax.scan(lambda c, x: step(c, (*x, constant)), first, steps)
    elif dt is not None:
        (_, kept), emitted = jax.lax.scan(
            lambda c, x: step(c, (*x[:2], gate(x[2]))), first, (*steps, elapsed)
        )
    else:
        # Gates that all cases share are computed in parts: within a step XLA would compute them
        # again for each case.
        (_, kept), emitted = jax.lax.scan(
            lambda c, x: jax.lax.scan(step, c, (*x[:2], jax.vmap(gate)(x[2]))),
            first,
            [_in_parts(one) for one in (*steps, elapsed)],
        )
        emitted = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[: len(values)], emitted)
    return kept, emitted


def _in_parts(x: Any) -> Float[Array, "parts steps ..."]:
    """The steps in parts of equal size, completed by zeros."""
    missing = -len(x) % _PART
    return jnp.pad(x, ((0, missing), *[(0, 0)] * (x.ndim - 1))).reshape(-1, _PART, *x.shape[1:])


def _durations(values: Any, dt: Any, length: Any) -> Float[Array, " time"]:
    """Durations of the samples of a case; 0 for padding."""
    return jnp.where(jnp.arange(len(values)) < length, 1.0 if dt is None else dt, 0.0)


def _elapsed(clock: str, time: int, dt: Any) -> Float[Array, " time"] | None:
    """Time of the clock that passes in each sample, padding included; None if it is always 1.

    Without `dt` it is the same for all cases, and gates are computed once for all of them.
    """
    if clock == "uniform":
        return dt
    durations = jnp.ones(time) if dt is None else dt
    # Not by subtracting the durations, which loses the first one beside a long second one.
    starts = jnp.concatenate([jnp.zeros(1), jnp.cumsum(durations)[:-1]])
    return jnp.concatenate([jnp.full(1, _PAST), jnp.log1p(durations[1:] / starts[1:])])


def _gate(decay: Any, rotation: Any, elapsed: Any) -> tuple[Array, Array, Array, Array]:
    """g = exp(−λ s) and the gain (1 − g)/λ, as real and imaginary parts."""
    # From half of the angle, so that 1 − g does not cancel where little time passes.
    lost, half = -jnp.expm1(-decay * elapsed), -rotation * elapsed / 2
    sine, cosine = jnp.sin(half), jnp.cos(half)
    size, turned = 1 - lost, 2 * sine**2
    imaginary, missing = 2 * size * sine * cosine, lost + size * turned
    square = decay**2 + rotation**2
    return (
        size * (1 - turned),
        imaginary,
        (missing * decay - imaginary * rotation) / square,
        -(missing * rotation + imaginary * decay) / square,
    )
