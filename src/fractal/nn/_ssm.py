"""The fractional state-space layer: a filter bank over α, run as one diagonal scan."""

from collections.abc import Sequence
from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._bounds import check_memory
from .._checks import check_choice, check_count, check_flag, check_order, check_real
from .._engine.chunked import states
from .._engine.discretize import DISCRETIZATIONS, gate_and_rest
from .._engine.inputs import (
    check_durations,
    check_key,
    check_padding,
    check_sample,
    check_sequence,
    compiled_call,
    compiled_step,
    last_state,
    without_padding,
)
from .._engine.parts import Parts, from_halves, to_halves
from .._engine.step_size import dt_range
from ._clock import CLOCKS, reversed_ticks, ticks
from ._filter_bank import FreeBank, LearnedAlphaBank, learnable
from ._initial import draw, repeated
from ._roles import role
from ._spectra import spectrum

DEFAULT_ALPHAS = tuple(np.linspace(0.0, 0.9, 8).tolist())


class FractalState(NamedTuple):
    """What a layer remembers: its modes, and how much time has passed.

    In float32 the time of a stream that goes on by ones stops at 2²⁴ ≈ 17 million.
    """

    modes: Complex[Array, " modes"]
    time: Float[Array, ""]


class FractalSSM(eqx.Module):
    """A layer that keeps its input in power-law memories, one block for each α.

    Each block diagonalizes the memory of (t − x)^(−α) and runs it as z_k = g_k z_{k−1} + b_k; the
    output is read from the modes of all blocks, plus D u. Written for one sequence: `jax.vmap` it
    over a batch. It compiles itself, so that it is quick outside of `jax.jit` too.

    >>> import jax
    >>> from fractal.nn import FractalSSM
    >>> ssm = FractalSSM(width=4, order=8, key=jax.random.key(0))
    >>> u = jax.random.normal(jax.random.key(1), (100, 4))
    >>> y, state = ssm(u)
    >>> y_t, state = ssm.step(u[0], state)  # and on, one sample at a time
    >>> y.shape, y_t.shape
    ((100, 4), (4,))
    """

    bank: FreeBank | LearnedAlphaBank = eqx.field(metadata=role("dynamics"))
    log_dt: Float[Array, " steps"] = eqx.field(metadata=role("step_size"))
    B: Float[Array, "halves width"] = eqx.field(metadata=role("input"))
    C: Float[Array, "width read"] = eqx.field(metadata=role("readout"))
    D: Float[Array, " width"] = eqx.field(metadata=role("readout"))
    sizes: tuple[int, ...] = eqx.field(static=True)
    clock: str = eqx.field(static=True)
    discretization: str = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 16,
        alphas: float | Sequence[float] | None = None,
        init: str = "normal",
        clock: str = "uniform",
        bidirectional: bool = False,
        learn_alpha: bool = False,
        discretization: str = "zoh",
        dt_min: float | None = None,
        dt_max: float | None = None,
        length: SupportsIndex | None = None,
        imaginary: str | None = None,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: order N of each block, even.
        - `alphas`: the filter bank; default 8 values, evenly spaced from 0 to 0.9.
        - `init`: `"normal"`, light and equal damping, the one to train; `"fractional"`, the exact
          memory (blocks with α < 0.01 take the normal form); `"published"`, the paper's pair, for
          N ≤ 8.
        - `clock`: `"uniform"`, or `"scale-invariant"` for a layer that does not notice at which
          rate its input was sampled.
        - `bidirectional`: read from a second scan, backwards in time, too.
        - `learn_alpha`: tie all eigenvalues and gains of a block to one learned α; it starts at
          the given one and stays in [0.01, 0.94].
        - `discretization`: `"zoh"` (exact for held samples) or `"bilinear"`.
        - `dt_min`, `dt_max`: range of the initial time steps Δ, log-uniform: one for each mode, or
          for each block where `init="fractional"`. Default [0.001, 0.1], with `length`
          [2/length, 0.5]; for the scale-invariant clock [0.3, 3], with `length` [0.3, length/2].
        - `length`: of the sequences to come, if known.
        - `imaginary`: for `init="published"`: `"lin"`, `"inv"` or `"none"`.
        """
        key = check_key(key)
        width, order = check_count("width", width, smallest=1), check_order(order)
        bidirectional = check_flag("bidirectional", bidirectional)
        learn_alpha = check_flag("learn_alpha", learn_alpha)
        alphas = DEFAULT_ALPHAS if alphas is None else _listed(alphas)
        if not alphas:
            raise ValueError("alphas must hold at least one value")
        check_choice("clock", clock, CLOCKS)
        check_choice("discretization", discretization, DISCRETIZATIONS)
        low, high = dt_range(clock, dt_min, dt_max, length)

        blocks = [spectrum(init, alpha, order, imaginary) for alpha in alphas]
        if learn_alpha:
            self.bank = LearnedAlphaBank(init, order, alphas)
            blocks = [spectrum(init, alpha, order) for alpha in learnable(alphas)]
        else:
            self.bank = FreeBank(blocks)
        self.sizes = tuple(len(block.rates) for block in blocks)
        check_memory(16.0 * width * sum(self.sizes), f"width={width} and order={order}")
        self.clock, self.discretization = clock, discretization
        self.bidirectional = bidirectional

        rates = jnp.asarray(np.concatenate([block.rates for block in blocks]))
        gains = jnp.asarray(np.concatenate([block.gains for block in blocks]))
        self.log_dt, B, self.C, self.D = draw(
            key,
            rates,
            gains,
            jnp.asarray([low, high]),
            sizes=self.sizes,
            width=width,
            shared=init == "fractional",  # so that a block's state stays a projection
            scans=2 if bidirectional else 1,
            uniform=clock == "uniform",
            discretization=discretization,
        )
        # The gains of a learned α follow it.
        self.B = B if learn_alpha else B * jnp.tile(gains, 2)[:, None]

    def __check_init__(self):
        check_choice("clock", self.clock, CLOCKS)
        check_choice("discretization", self.discretization, DISCRETIZATIONS)
        modes, width = sum(self.sizes), len(self.D)
        read = modes * (4 if self.bidirectional else 2)
        if self.B.shape != (2 * modes, width) or self.C.shape != (width, read):
            raise ValueError(f"B and C must fit {modes} modes and {width} channels")
        if len(self.log_dt) not in (modes, len(self.sizes)):
            raise ValueError("log_dt must hold one entry per mode or per block")

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: FractalState | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], FractalState]:
        """All outputs, and the state after the last step.

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: the state to resume from; `initial_state()` by default.
        - `dt`: durations of the samples, not negative: one number, or one per step; 1 by default.
        - `lengths`: number of real steps; the rest is padding, which leaves the state unchanged.
        - `mask`: boolean, False at padding, wherever it stands. `lengths` is faster.
        """
        u = check_sequence(u, len(self.D))
        length = len(u)
        dt = check_durations(dt, length, self.D.dtype)
        kept, end = check_padding(lengths, mask, length)
        if state is not None and self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: state must be None")
        state = self.initial_state() if state is None else state
        if length == 0:
            return u, state

        signal = without_padding(u.astype(self.D.dtype), kept)
        stopped = kept if end is None else None
        forward = ticks(self.clock, length, state.time, dt, stopped)
        x = self._states(False, signal, forward, state.modes)
        toward, backward = jnp.split(self.C, 2, axis=1) if self.bidirectional else (self.C, None)
        y = x @ toward.T
        if backward is not None:
            # The scale-invariant clock must know where the reverse direction starts.
            back_mask = stopped if self.clock == "uniform" else kept
            back = reversed_ticks(self.clock, length, dt, back_mask)
            y += self._states(True, signal, back, jnp.zeros_like(state.modes)) @ backward.T
        passed = jnp.broadcast_to(dt, (length,)).sum(where=kept)
        modes = from_halves(last_state(x, end, to_halves(state.modes)))
        return (y + self.D * signal).astype(u.dtype), FractalState(modes, state.time + passed)

    @compiled_step
    def step(
        self, u: ArrayLike, state: FractalState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], FractalState]:
        """One step of the scan; u is of shape (width,)."""
        if self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: it has no step")
        u = check_sample(u, len(self.D))
        dt = check_durations(dt, 1, self.D.dtype).reshape(())
        signal = u.astype(self.D.dtype)
        elapsed = ticks(self.clock, 1, state.time, dt, None).reshape(())
        w, B = self._modes()
        gate, rest = gate_and_rest(self.discretization, w, elapsed)
        z = jax.lax.complex(*gate) * state.modes + jax.lax.complex(*rest) * (B @ signal)
        y = self.C @ to_halves(z) + self.D * signal
        return y.astype(u.dtype), FractalState(z, state.time + dt)

    def initial_state(self) -> FractalState:
        """The state before the first sample."""
        zero = jnp.zeros(sum(self.sizes), self.D.dtype)
        return FractalState(zero + 0j, jnp.zeros((), self.D.dtype))

    def _states(self, reverse: bool, signal: Array, elapsed: Array, start: Array) -> Array:
        return states(reverse, self.discretization, self._modes(), elapsed, signal, start)

    def _modes(self) -> tuple[Parts, Complex[Array, "modes width"]]:
        """Decay and turn of each mode in one time step Δ, and B/λ."""
        decay, frequency, gain = self.bank()
        B = from_halves(self.B, axis=0) * (gain / jax.lax.complex(decay, frequency))[:, None]
        dt = jnp.exp(repeated(self.log_dt, self.sizes))
        return (decay * dt, frequency * dt), B


def _listed(alphas: float | Sequence[float]) -> tuple[float, ...]:
    """One α or several, as a tuple."""
    array = np.atleast_1d(check_real("alphas", alphas))
    if array.ndim != 1:
        raise ValueError(f"alphas must be a number or a sequence of numbers, got {array.shape}")
    return tuple(array.tolist())
