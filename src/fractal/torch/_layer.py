"""The fractional state-space layer in PyTorch."""

# pyright: reportMissingImports=false

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import torch
from jaxtyping import Float
from torch import Tensor, nn

from .._alpha_series import initial_alphas
from .._bounds import check_memory
from .._checks import check_choice, check_count, check_flag, check_order
from .._engine.step_size import dt_range
from .._layer_options import check_alphas, check_periods
from .._options import CLOCKS, DISCRETIZATIONS, METHODS, RATES
from .._spectra import spectrum
from ._clock import accumulate, advance, elapsed_per_step, reversed_elapsed
from ._discretize import gate_and_complement
from ._filter_bank import FreeBank, LearnedAlphaBank, parameter
from ._initial import initial_tensors
from ._inputs import check_durations, check_input, check_padding
from ._numbers import times
from ._rate import PathRate, durations, held, make_rate
from ._recurrence import recurrence


class FractalState(NamedTuple):
    """State of a `FractalSSM`: the modes, and the total duration of the samples so far.

    The last axis of the modes is their real and imaginary part. `time_lost` and `modes_lost` hold
    what rounding removed, as in `fractal.nn.FractalState`.

    **Fields:**

    - `time`: of one clock, or one per block for `selective=True`.
    - `modes_lost`: None for the uniform clock, whose modes forget at a fixed rate.
    - `last_input`: the last sample, for `rate="path"`; otherwise None.
    """

    modes: Float[Tensor, "batch modes 2"]
    time: Float[Tensor, "batch clocks"]
    modes_lost: Float[Tensor, "batch 2 modes 2"] | None
    time_lost: Float[Tensor, "batch 2 clocks"]
    last_input: Float[Tensor, "batch width"] | None = None


class FractalSSM(nn.Module):
    """A state-space layer with power-law memory: a filter bank, one block of modes per index α.

    The layer, its options and its weight files are those of `fractal.nn.FractalSSM`; inputs have a
    batch axis. Parameters are initialized from PyTorch's random generator.

    >>> import torch
    >>> from fractal.torch import FractalSSM
    >>> ssm = FractalSSM(width=4, order=8)
    >>> y, state = ssm(torch.randn(2, 100, 4))
    >>> y_t, state = ssm.step(torch.randn(2, 4), state)  # streaming
    >>> tuple(y.shape), tuple(y_t.shape)
    ((2, 100, 4), (2, 4))
    """

    FIELDS = ("bank", "log_dt", "B", "C", "D", "sizes", "clock", "discretization", "bidirectional")
    FIELDS += ("scan", "rate")

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
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - all others: options of `fractal.nn.FractalSSM`; for `scan` see `linear_scan`.
        """
        super().__init__()
        width, order = check_count("width", width, smallest=1), check_order(order)
        bidirectional = check_flag("bidirectional", bidirectional)
        selective = check_flag("selective", selective)
        if rate is not None:
            check_choice("rate", rate, RATES)
        check_choice("clock", clock, CLOCKS)
        check_choice("discretization", discretization, DISCRETIZATIONS)
        alphas = check_alphas(alphas)
        shared = init == "fractional"  # the state of a block is then a projection
        periods = check_periods(
            period, clock=clock, discretization=discretization, shared=shared, rate=rate
        )
        ends = dt_range(clock, dt_min, dt_max, length)

        blocks = [spectrum(init, alpha, order, imaginary) for alpha in alphas]
        if check_flag("learn_alpha", learn_alpha):
            self.bank = LearnedAlphaBank(init, order, alphas)
            blocks = [spectrum(init, alpha, order) for alpha in initial_alphas(alphas)]
        else:
            self.bank = FreeBank(blocks)
        self.sizes = tuple(len(block.rates) for block in blocks)
        check_memory(16.0 * width * sum(self.sizes), f"width={width} and order={order}")
        self.clock, self.discretization = clock, discretization
        self.bidirectional, self.scan = bidirectional, scan
        self.rate = make_rate(rate, selective, len(self.sizes), width)
        made = initial_tensors(
            blocks,
            ends,
            periods,
            width=width,
            shared=shared,
            scans=2 if bidirectional else 1,
            uniform=clock == "uniform",
            discretization=discretization,
        )
        B = made.B
        if not learn_alpha:  # with a learned α the gains are computed from it in every call
            gains = torch.cat([torch.as_tensor(b.gains, device="cpu") for b in blocks])
            B = B * gains.repeat(2)[:, None]
        self.log_dt, self.B = parameter(made.log_dt), parameter(B)
        self.C, self.D = parameter(made.C), parameter(made.D)
        self.check()

    def check(self) -> None:
        """Raise `ValueError` for invalid options and inconsistent shapes."""
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

    def forward(
        self,
        u: Any,
        state: FractalState | None = None,
        dt: Any = None,
        lengths: Any = None,
        mask: Any = None,
    ) -> tuple[Float[Tensor, "batch time width"], FractalState]:
        """Outputs, and the state after the last step. Computed in the dtype of the parameters.

        **Arguments:**

        - `u`: the input, (batch, time, width).
        - `state`: state to resume from; `initial_state(batch)` by default.
        - `dt`: durations of the samples, non-negative: a number, (time,) or (batch, time). None
          for `rate="path"`.
        - `lengths`: number of real steps per sequence, (batch,); later steps are padding, which
          does not change the state.
        - `mask`: boolean, (batch, time), False at padding, which may be at any step. `lengths` is
          faster.
        """
        u = check_input(u, "batch, time", 3, len(self.D))
        batch, length = u.shape[:2]
        dt = self._check_dt(dt, batch, length)
        kept, end = check_padding(lengths, mask, u)
        if state is not None and self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: state must be None")
        fresh, state = state is None, self._checked(state, batch)
        if length == 0:
            return u, state
        with torch.autocast(u.device.type, enabled=False):
            y, state = self._run(u.to(self.D.dtype), state, fresh, dt, kept, end)
        return y.to(u.dtype), state

    def _run(
        self,
        signal: Tensor,
        state: FractalState,
        fresh: bool,
        dt: Tensor,
        kept: Tensor | None,
        end: Tensor | None,
    ) -> tuple[Tensor, FractalState]:
        length = signal.shape[1]
        signal = signal if kept is None else torch.where(kept[..., None], signal, 0.0)
        clock_mask = kept if end is None else None
        time = state.time[:1] if fresh else state.time
        forward, backward = durations(self.rate, signal, dt, clock_mask, state.last_input)
        elapsed = self._per_mode(
            elapsed_per_step(self.clock, length, time, forward, clock_mask), axis=2
        )
        readouts = self._readouts()
        if fresh or state.modes_lost is None:
            x = self._states(signal, elapsed, None if fresh else state.modes, reverse=False)
            y, lost = x.flatten(2) @ readouts[0].T, state.modes_lost
            modes = _last(x, end, state.modes)
            if self.bidirectional:
                # On the scale-invariant clock the start of the reverse scan depends on the padding.
                reverse_mask = clock_mask if self.clock == "uniform" else kept
                back = reversed_elapsed(self.clock, length, backward, reverse_mask)
                x = self._states(signal, self._per_mode(back, axis=2), None, reverse=True)
                y = y + x.flatten(2) @ readouts[1].T
        else:
            x = self._changes(signal, elapsed, state.modes)
            y = x.flatten(2) @ readouts[0].T + (state.modes.flatten(1) @ readouts[0].T)[:, None]
            change = _last(x, end, torch.zeros_like(state.modes))
            modes, lost = accumulate(state.modes, state.modes_lost, change)
        y = torch.addcmul(y, self.D, signal)
        last = state.last_input
        if last is not None:
            last = _last(held(signal, clock_mask, last), end, last)
        time, time_lost = advance(state.time, state.time_lost, length, forward, kept)
        return y, FractalState(modes, time, lost, time_lost, last)

    def step(
        self, u: Any, state: FractalState, dt: Any = None
    ) -> tuple[Float[Tensor, "batch width"], FractalState]:
        """Outputs (batch, width) for one sample u (batch, width), and the next state.

        **Arguments:**

        - `dt`: duration of the sample: a number, or (batch, 1).
        """
        if self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: it has no step")
        u = check_input(u, "batch", 2, len(self.D))
        state = self._checked(state, len(u))
        dt = self._check_dt(dt, len(u), 1)
        with torch.autocast(u.device.type, enabled=False):
            signal = u.to(self.D.dtype)
            taken, _ = durations(self.rate, signal[:, None], dt, None, state.last_input)
            elapsed = elapsed_per_step(self.clock, 1, state.time, taken, None)
            gate, complement = (g[:, 0] for g in self._gates(self._per_mode(elapsed, axis=2)))
            response = self._response(signal)
            lost = None
            if state.modes_lost is None:
                modes = times(gate, state.modes, True) + times(complement, response, True)
            else:
                change = times(complement, response - state.modes, True)
                modes, lost = accumulate(state.modes, state.modes_lost, change)
            y = torch.addcmul(modes.flatten(1) @ self._readouts()[0].T, self.D, signal)
        time, time_lost = advance(state.time, state.time_lost, 1, taken, None)
        last = None if state.last_input is None else signal
        return y.to(u.dtype), FractalState(modes, time, lost, time_lost, last)

    def initial_state(self, batch: int = 1) -> FractalState:
        """The state before the first sample: zero modes, time zero."""
        modes = self.D.new_zeros(batch, sum(self.sizes), 2)
        lost = None if self.clock == "uniform" else modes.new_zeros(batch, 2, *modes.shape[1:])
        clocks = 1 if self.rate is None or self.rate.weight is None else len(self.sizes)
        last = modes.new_zeros(batch, len(self.D)) if isinstance(self.rate, PathRate) else None
        time = modes.new_zeros(batch, 3, clocks)
        return FractalState(modes, time[:, 0], lost, time[:, 1:], last)

    def extra_repr(self) -> str:
        """The options that the shapes of the parameters do not show."""
        return (
            f"width={len(self.D)}, modes={sum(self.sizes)}, clock={self.clock!r}, "
            f"bidirectional={self.bidirectional}, discretization={self.discretization!r}"
        )

    def _checked(self, state: FractalState | None, batch: int) -> FractalState:
        expected = self.initial_state(batch)
        if state is None:
            return expected
        fits = isinstance(state, FractalState) and all(
            getattr(one, "shape", None) == getattr(two, "shape", None)
            for one, two in zip(state, expected, strict=True)
        )
        if not fits:
            raise ValueError("state must be one that this FractalSSM returned, or initial_state()")
        return state

    def _check_dt(self, dt: Any, batch: int, length: int) -> Tensor:
        if dt is not None and isinstance(self.rate, PathRate):
            raise ValueError("dt must be None for rate='path', whose time is the change of u")
        return check_durations(dt, batch, length, self.D)

    def _per_mode(self, x: Tensor, axis: int) -> Tensor:
        """Repeat values per block for the modes of the block; others are unchanged."""
        if x.shape[axis] != len(self.sizes) or len(self.sizes) == 1:
            return x
        counts = torch.tensor(self.sizes, device=x.device)
        return torch.repeat_interleave(x, counts, axis, output_size=sum(self.sizes))

    def _modes(self) -> tuple[Tensor, Tensor, Tensor]:
        """λΔ (decay and rotation per unit step), and gain/λ as pairs."""
        decay, frequency, gain = self.bank()
        step = torch.exp(self.log_dt)
        step = step if len(step) == len(decay) else self._per_mode(step, axis=0)
        scale = gain / (decay**2 + frequency**2)
        return decay * step, frequency * step, torch.stack([decay, -frequency], -1) * scale[:, None]

    def _gates(self, elapsed: Tensor) -> tuple[Tensor, Tensor]:
        decay, rotation, _ = self._modes()
        return gate_and_complement(self.discretization, decay, rotation, elapsed)

    def _response(self, signal: Tensor, weight: Tensor | None = None) -> Tensor:
        """Steady-state response B/λ u, (…, modes, 2); times a weight of each mode if given."""
        factor = self._modes()[2]
        factor = factor if weight is None else times(factor, weight, True)
        B = torch.stack(self.B.chunk(2), -1)  # (modes, width, 2)
        rows = times(factor[:, None], B, True).transpose(1, 2).flatten(0, 1)
        return (signal @ rows.T).unflatten(-1, (-1, 2))

    def _readouts(self) -> list[Tensor]:
        """The weights of each scan, with real and imaginary parts alternating."""
        scans = self.C.chunk(2 if self.bidirectional else 1, 1)
        return [torch.stack(C.chunk(2, 1), -1).flatten(1) for C in scans]

    def _states(
        self, signal: Tensor, elapsed: Tensor, start: Tensor | None, reverse: bool
    ) -> Tensor:
        """The states (batch, time, modes, 2) after each step."""
        gate, complement = self._gates(elapsed)
        if elapsed.shape[:2] == (1, 1):
            # Constant gates: 1 − g is multiplied into B, which saves a product per step.
            b = self._response(signal, complement[0, 0])
            return recurrence(gate, b, start, reverse=reverse, method=self.scan)
        v = self._response(signal)
        return recurrence(gate, v, start, reverse=reverse, average=True, method=self.scan)

    def _changes(self, signal: Tensor, elapsed: Tensor, start: Tensor) -> Tensor:
        """The states minus `start`, which may be too small to change `start` in its precision."""
        gate, complement = self._gates(elapsed)
        added = times(complement, self._response(signal) - start[:, None], True)
        return recurrence(gate, added, None, method=self.scan)


def _last(x: Tensor, end: Tensor | None, start: Tensor) -> Tensor:
    """The state after the last real step; `start` if there is none."""
    if end is None:
        return x[:, -1]
    rows = torch.arange(len(x), device=x.device)
    some = (end > 0).reshape(-1, *(1,) * (start.ndim - 1))
    return torch.where(some, x[rows, end.clamp(min=1) - 1], start)
