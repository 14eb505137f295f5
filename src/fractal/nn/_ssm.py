"""The fractional state-space layer: a filter bank over α, computed as one diagonal scan."""

from collections.abc import Sequence
from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._alpha_series import initial_alphas
from .._bounds import check_memory
from .._checks import check_choice, check_count, check_flag, check_order
from .._engine.discretize import gate_and_complement
from .._engine.inputs import (
    check_durations,
    check_key,
    check_padding,
    check_sample,
    check_sequence,
    compiled_call,
    compiled_step,
    last_state,
    mask_padding,
)
from .._engine.pair import Pair, complex_to_real, real_to_complex
from .._engine.recurrence import Scans, scan, states
from .._engine.step_size import dt_range
from .._layer_options import check_alphas, check_periods
from .._options import CLOCKS, DISCRETIZATIONS, METHODS, RATES
from .._spectra import spectrum
from ._clock import advance, elapsed_per_step, reversed_elapsed
from ._filter_bank import FreeBank, LearnedAlphaBank
from ._initial import init_parameters, per_mode
from ._rate import PathRate, SelectiveRate, durations, last_sample, make_rate
from ._roles import role
from ._running_sum import accumulate


class FractalState(NamedTuple):
    """State of a `FractalSSM`: the modes, and the total duration of the samples so far.

    Both are rounded. `time_lost` and `modes_lost` hold what rounding removed (two words each, of
    decreasing size), so that a float32 stream of 10¹² samples is as accurate as its first samples.
    To set the time, use `state._replace(time=…)`.

    **Fields:**

    - `time`: one per block for `selective=True`.
    - `modes_lost`: None for the uniform clock, whose modes forget at a fixed rate.
    - `last_input`: the last sample, for `rate="path"`; otherwise None.
    """

    modes: Complex[Array, " modes"]
    time: Float[Array, "*blocks"]
    modes_lost: Complex[Array, "2 modes"] | None
    time_lost: Float[Array, "2 *blocks"]
    last_input: Float[Array, " width"] | None = None


class FractalSSM(eqx.Module):
    """A state-space layer with power-law memory: a filter bank, one block of modes per index α.

    Each block is the diagonal form of the operator of the measure (t − x)^(−α), discretized as
    z_k = g_k z_{k−1} + b_k. The output is a linear readout of the modes of all blocks, plus D u.
    The layer processes one sequence; use `jax.vmap` for a batch. Calls are compiled by `jax.jit`.

    >>> import jax
    >>> from fractal.nn import FractalSSM
    >>> ssm = FractalSSM(width=4, order=8, key=jax.random.key(0))
    >>> u = jax.random.normal(jax.random.key(1), (100, 4))
    >>> y, state = ssm(u)
    >>> y_t, state = ssm.step(u[0], state)  # streaming
    >>> y.shape, y_t.shape
    ((100, 4), (4,))
    """

    bank: FreeBank | LearnedAlphaBank = eqx.field(metadata=role("dynamics"))
    log_dt: Float[Array, " steps"] = eqx.field(metadata=role("step_size"))
    B: Float[Array, "re_im width"] = eqx.field(metadata=role("input"))
    C: Float[Array, "width read"] = eqx.field(metadata=role("readout"))
    D: Float[Array, " width"] = eqx.field(metadata=role("readout"))
    sizes: tuple[int, ...] = eqx.field(static=True)
    clock: str = eqx.field(static=True)
    discretization: str = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)
    scan: str = eqx.field(static=True, default="auto")
    rate: SelectiveRate | PathRate | None = eqx.field(default=None, metadata=role("rate"))

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 16,
        alphas: float | Sequence[float] | None = None,
        init: str = "normal",
        clock: str = "uniform",
        selective: bool = False,
        rate: str | None = None,
        bidirectional: bool = False,
        learn_alpha: bool = False,
        discretization: str = "zoh",
        dt_min: float | None = None,
        dt_max: float | None = None,
        length: SupportsIndex | None = None,
        imaginary: str | None = None,
        period: float | Sequence[float] | None = None,
        scan: str = "auto",
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: order N of each block, even.
        - `alphas`: singularity indices of the blocks of the filter bank; default 8 values, evenly
          spaced from 0 to 0.9.
        - `init`: initial eigenvalues. `"normal"`: normal part of the operator, with equal decay of
          all modes of a block (recommended for training); `"fractional"`: the exact eigenvalues
          (normal for α < 0.01); `"published"`: those of the paper, for N ≤ 8 (10
          for small α).
        - `clock`: `"uniform"`, or `"scale-invariant"` for states that do not depend on the sampling
          rate of the input.
        - `selective`: input-dependent time: the duration of a sample is multiplied by a rate that
          is computed from it, one per block of the bank: r = softplus(w·u + c), 1 initially.
        - `rate`: `"path"`: time passes as the input changes, by |Δu|/√width per sample, so that the
          state does not depend on pauses, repetitions or the speed of the signal. The signal starts
          at zero; `dt` must be None. With `selective`, by ‖w ∘ Δu‖ for learned w per block.
        - `bidirectional`: add a second scan, in reverse time.
        - `learn_alpha`: parameterize the eigenvalues and gains of a block by one learned α in
          [0.01, 0.94], initialized from `alphas`.
        - `discretization`: `"zoh"` (zero-order hold) or `"bilinear"`.
        - `dt_min`, `dt_max`: range of the initial step sizes Δ, which are log-uniform: one per
          mode, or one per block for `init="fractional"`. Default [0.001, 0.1], or [2/length, 0.5]
          with `length`; for the scale-invariant clock [0.3, 3], or [0.3, length/2].
        - `length`: expected length of the sequences, if known; sets the range of Δ.
        - `imaginary`: imaginary part for `init="published"`: `"lin"`, `"inv"` or `"none"`.
        - `period`: period of the data in steps, such as the length of a row of pixels, or several,
          such as a day and a week, assigned to the modes cyclically. The initial Δ are rounded so
          that each mode rotates by a multiple of 2π/period per step; modes slower than half of
          2π/period keep their Δ. For the uniform clock, zero-order hold, one Δ per mode and
          `rate=None`.
        - `scan`: method of the scan: `"auto"`, `"sequential"`, `"associative"` or `"chunked"`; see
          `linear_scan`.
        """
        key = check_key(key)
        width, order = check_count("width", width, smallest=1), check_order(order)
        bidirectional = check_flag("bidirectional", bidirectional)
        learn_alpha = check_flag("learn_alpha", learn_alpha)
        alphas = check_alphas(alphas)
        selective = check_flag("selective", selective)
        if rate is not None:
            check_choice("rate", rate, RATES)
        check_choice("clock", clock, CLOCKS)
        check_choice("discretization", discretization, DISCRETIZATIONS)
        low, high = dt_range(clock, dt_min, dt_max, length)
        shared = init == "fractional"  # the state of a block is then a projection
        periods = check_periods(
            period, clock=clock, discretization=discretization, shared=shared, rate=rate
        )

        blocks = [spectrum(init, alpha, order, imaginary) for alpha in alphas]
        if learn_alpha:
            self.bank = LearnedAlphaBank(init, order, alphas)
            blocks = [spectrum(init, alpha, order) for alpha in initial_alphas(alphas)]
        else:
            self.bank = FreeBank(blocks)
        self.sizes = tuple(len(block.rates) for block in blocks)
        check_memory(16.0 * width * sum(self.sizes), f"width={width} and order={order}")
        self.clock, self.discretization = clock, discretization
        self.bidirectional, self.scan = bidirectional, scan
        self.rate = make_rate(rate, selective, len(self.sizes), width)

        rates = jnp.asarray(np.concatenate([block.rates for block in blocks]))
        gains = jnp.asarray(np.concatenate([block.gains for block in blocks]))
        self.log_dt, B, self.C, self.D = init_parameters(
            key,
            rates,
            gains,
            jnp.asarray([low, high]),
            None if periods is None else jnp.asarray(np.resize(periods, len(rates))),
            sizes=self.sizes,
            width=width,
            shared=shared,
            scans=2 if bidirectional else 1,
            uniform=clock == "uniform",
            discretization=discretization,
        )
        # With a learned α the gains are computed from it in every call.
        self.B = B if learn_alpha else B * jnp.tile(gains, 2)[:, None]

    def __check_init__(self):
        check_choice("clock", self.clock, CLOCKS)
        check_choice("discretization", self.discretization, DISCRETIZATIONS)
        check_choice("scan", self.scan, METHODS)
        modes, width = sum(self.sizes), len(self.D)
        read = modes * (4 if self.bidirectional else 2)
        if self.B.shape != (2 * modes, width) or self.C.shape != (width, read):
            raise ValueError(f"B and C must have the shapes of {modes} modes and {width} channels")
        if len(self.log_dt) not in (modes, len(self.sizes)):
            raise ValueError("log_dt must have one entry per mode or per block")
        weight = None if self.rate is None else self.rate.weight
        if weight is not None and weight.shape != (len(self.sizes), width):
            raise ValueError(f"rate must have weights for {len(self.sizes)} blocks")

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: FractalState | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        axis_name: str | None = None,
    ) -> tuple[Float[Array, "time width"], FractalState]:
        """Outputs, and the state after the last step.

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: state to resume from; `initial_state()` by default.
        - `dt`: durations of the samples, non-negative: a scalar, or one per step; 1 by default.
          None for `rate="path"`.
        - `lengths`: number of real steps; later steps are padding, which does not change the state.
        - `mask`: boolean, False at padding, which may be at any step. `lengths` is faster.
        - `axis_name`: inside `jax.shard_map`, the mesh axis over which time is sharded. `u`, `mask`
          and `dt` with a time axis are then the parts of one device; all else is the same on all
          devices, and `lengths` counts the steps of all parts.
        """
        u = check_sequence(u, len(self.D))
        length = len(u)
        dt = self._check_dt(dt, length)
        kept, end = check_padding(lengths, mask, length, axis_name)
        if state is not None and self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: state must be None")
        fresh = state is None
        state = self.initial_state() if state is None else state
        if length == 0:
            return u, state

        signal = mask_padding(u.astype(self.D.dtype), kept)
        clock_mask = kept if end is None else None
        forward, backward = durations(
            self.rate, signal, dt, clock_mask, state.last_input, axis_name
        )
        ahead = elapsed_per_step(self.clock, length, state.time, forward, clock_mask, axis_name)
        elapsed = (self._grouped(ahead),)
        start = complex_to_real(state.modes)
        if fresh or state.modes_lost is None:
            reverse, starts = (False,), (start,)
            if self.bidirectional:
                reverse, starts = (False, True), (None, None)
                if self.clock != "uniform" or isinstance(self.rate, PathRate):
                    # The start of a scale-invariant clock in reverse depends on the padding.
                    mask = clock_mask if self.clock == "uniform" else kept
                    zero = jnp.zeros_like(state.time)
                    back = reversed_elapsed(self.clock, length, zero, backward, mask, axis_name)
                    elapsed = *elapsed, self._grouped(back)
            scans = Scans(self.scan, reverse, axis_name)
            x = states(scans, self.discretization, self._modes(), elapsed, signal, starts)
            y, lost = x @ self.C.T, state.modes_lost
            modes = real_to_complex(last_state(scans.split(x)[0], end, start, axis_name))
        else:
            x = self._changes(signal, elapsed[0], start, axis_name)
            y = x @ self.C.T + (self.C @ start)[None]
            change = real_to_complex(last_state(x, end, jnp.zeros_like(start), axis_name))
            modes, lost = accumulate(state.modes, state.modes_lost, change)
        y += self.D[None] * signal
        time, time_lost = advance(state.time, state.time_lost, length, forward, kept, axis_name)
        last = last_sample(signal, clock_mask, end, state.last_input, axis_name)
        return y.astype(u.dtype), FractalState(modes, time, lost, time_lost, last)

    @compiled_step
    def step(
        self, u: ArrayLike, state: FractalState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], FractalState]:
        """Output (width,) for one sample u (width,), and the next state."""
        if self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: it has no step")
        u = check_sample(u, len(self.D))
        dt = self._check_dt(dt, 1).reshape(())
        signal = u.astype(self.D.dtype)
        taken, _ = durations(self.rate, signal[None], dt, None, state.last_input, None)
        taken = taken.reshape(state.time.shape)
        elapsed = elapsed_per_step(self.clock, 1, state.time, taken, None).reshape(taken.shape)
        w, B = self._modes()
        grouped = elapsed if elapsed.ndim == 0 else self._grouped(elapsed[None])
        pairs = gate_and_complement(self.discretization, w, grouped)
        gate, complement = (jax.lax.complex(*pair.parts).reshape(-1) for pair in pairs)
        response = real_to_complex(complex_to_real(B, axis=0) @ signal)
        if state.modes_lost is None:
            z, lost = gate * state.modes + complement * response, None
        else:
            change = complement * (response - state.modes)
            z, lost = accumulate(state.modes, state.modes_lost, change)
        y = self.C @ complex_to_real(z) + self.D * signal
        time, time_lost = advance(state.time, state.time_lost, 1, taken, None)
        last = None if state.last_input is None else signal
        return y.astype(u.dtype), FractalState(z, time, lost, time_lost, last)

    def initial_state(self) -> FractalState:
        """The state before the first sample: zero modes, time zero."""
        clocks = () if self.rate is None or self.rate.weight is None else (len(self.sizes),)
        time = jnp.zeros((3, *clocks), self.D.dtype)
        zero = jnp.zeros((3, sum(self.sizes)), self.D.dtype)
        modes = jax.lax.complex(zero, zero)
        lost = None if self.clock == "uniform" else modes[1:]
        last = jnp.zeros_like(self.D) if isinstance(self.rate, PathRate) else None
        return FractalState(modes[0], time[0], lost, time[1:], last)

    def _check_dt(self, dt: ArrayLike | None, length: int) -> Float[Array, "*time"]:
        if dt is not None and isinstance(self.rate, PathRate):
            raise ValueError("dt must be None for rate='path', whose time is the change of u")
        return check_durations(dt, length, self.D.dtype)

    def _grouped(self, elapsed: Float[Array, "..."]) -> Float[Array, "..."]:
        """Elapsed times per step and block, or per step and mode if blocks differ in size."""
        equal = elapsed.ndim < 2 or len(set(self.sizes)) == 1
        return elapsed if equal else per_mode(elapsed, self.sizes)

    def _changes(
        self,
        signal: Array,
        elapsed: Float[Array, "time *groups"],
        start: Float[Array, " re_im"],
        axis_name: str | None,
    ) -> Float[Array, "time re_im"]:
        """The states minus `start`, which may be too small to change `start` in its precision."""
        w, B = self._modes()
        gates, complements = gate_and_complement(self.discretization, w, elapsed)
        response = signal @ complex_to_real(B, axis=0).T - start[None]
        added = (complements * Pair.split(response, paired=True)).join()
        return scan(Scans(self.scan, (False,), axis_name), (gates,), (added,), (None,))

    def _modes(self) -> tuple[Pair, Complex[Array, "modes width"]]:
        """λΔ (decay and rotation per unit step) and the steady-state response B/λ."""
        decay, frequency, gain = self.bank()
        B = real_to_complex(self.B, axis=0)
        B *= (gain.astype(B.dtype) / jax.lax.complex(decay, frequency))[:, None]
        dt = jnp.exp(per_mode(self.log_dt, self.sizes))
        return Pair(decay * dt, frequency * dt), B
