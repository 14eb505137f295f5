"""The fractional state-space layer: a filter bank over α, run as one diagonal scan."""

from collections.abc import Sequence
from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Complex, Float, PRNGKeyArray

from ..theory._arguments import check_count, check_order, check_positive
from ._chunked import average, scan
from ._clock import CLOCKS, reversed_ticks, ticks
from ._discretise import DISCRETISATIONS, complements, exponents, gates, step_exponents
from ._filter_bank import FreeBank, LearnedAlphaBank
from ._parts import Parts, from_halves, to_halves
from ._spectra import Spectrum, spectrum

DEFAULT_ALPHAS = tuple(np.linspace(0.0, 0.9, 8).tolist())


class State(NamedTuple):
    """What a layer remembers: its modes, and how much time has passed."""

    modes: Complex[Array, " modes"]
    time: Float[Array, ""]


class FractalSSM(eqx.Module):
    """A layer that keeps its input in power-law memories, one block for each α.

    Each block diagonalises the memory of (t − x)^(−α) and runs it as z_k = g_k z_{k−1} + b_k; the
    output is read from the modes of all blocks, plus D u. Written for one sequence: `jax.vmap` it
    over a batch.

    >>> import jax
    >>> from fractal.nn import FractalSSM
    >>> ssm = FractalSSM(width=4, order=8, key=jax.random.key(0))
    >>> u = jax.random.normal(jax.random.key(1), (100, 4))
    >>> y, state = ssm(u)
    >>> y_t, state = ssm.step(u[0], state)  # and on, one sample at a time
    >>> y.shape, y_t.shape
    ((100, 4), (4,))
    """

    bank: FreeBank | LearnedAlphaBank
    log_dt: Float[Array, " modes"] | Float[Array, " blocks"]
    B: Float[Array, "2*modes width"]
    C: Float[Array, "width read"]
    D: Float[Array, " width"]
    sizes: tuple[int, ...] = eqx.field(static=True)
    clock: str = eqx.field(static=True)
    discretisation: str = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        order: SupportsIndex = 16,
        alphas: Sequence[float] | None = None,
        init: str = "normal",
        clock: str = "uniform",
        bidirectional: bool = False,
        learn_alpha: bool = False,
        discretisation: str = "zoh",
        dt_min: float | None = None,
        dt_max: float | None = None,
        length: SupportsIndex | None = None,
        imaginary: str | None = None,
        *,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: order N of each block, even.
        - `alphas`: the filter bank; default 8 values, evenly spaced from 0 to 0.9.
        - `init`: `"normal"`, light and equal damping, the one to train; `"fractional"`, the exact
          memory; `"published"`, the paper's pair, for N ≤ 10.
        - `clock`: `"uniform"`, or `"scale-invariant"` for a layer that does not notice at which
          rate its input was sampled.
        - `bidirectional`: read from a second scan, backwards in time, too.
        - `learn_alpha`: tie all eigenvalues and gains of a block to one learned α.
        - `discretisation`: `"zoh"` (exact for held samples) or `"bilinear"`.
        - `dt_min`, `dt_max`: range of the initial time steps Δ, log-uniform: one for each mode, or
          for each block where `init="fractional"`. Default [0.001, 0.1]; with `length`
          [2/length, 0.5]; for the scale-invariant clock [0.3, 3].
        - `length`: of the sequences to come, if known.
        - `imaginary`: for `init="published"`: `"lin"`, `"inv"` or `"none"`.
        """
        width, order = check_count("width", width, smallest=1), check_order(order)
        alphas = DEFAULT_ALPHAS if alphas is None else tuple(alphas)
        if not alphas:
            raise ValueError("alphas must hold at least one value")
        for name, value, allowed in (
            ("clock", clock, CLOCKS),
            ("discretisation", discretisation, DISCRETISATIONS),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        low, high = _dt_range(clock, dt_min, dt_max, length)

        blocks = [spectrum(init, alpha, order, imaginary) for alpha in alphas]
        if learn_alpha:
            self.bank = LearnedAlphaBank(init, order, alphas)
            blocks = [spectrum(init, float(alpha), order) for alpha in self.bank.alphas]
        else:
            self.bank = FreeBank(blocks)
        self.sizes = tuple(len(block.rates) for block in blocks)
        self.clock, self.discretisation = clock, discretisation
        self.bidirectional = bidirectional

        keys = jax.random.split(key, 4)
        shared = init == "fractional"  # so that a block's state stays a projection of one signal
        steps = len(blocks) if shared else sum(self.sizes)
        self.log_dt = jax.random.uniform(keys[0], (steps,), minval=np.log(low), maxval=np.log(high))
        directions = _directions(keys[1], blocks, width, shared)
        self.B = to_halves(self._scale(blocks, directions) * directions, axis=0)
        self.C = _readout(keys[2], blocks, width, 2 if bidirectional else 1)
        self.D = jax.random.normal(keys[3], (width,)) * np.sqrt(0.5)

    def __call__(
        self,
        u: Float[Array, "time width"],
        state: State | None = None,
        dt: ArrayLike | None = None,
        mask: Bool[Array, "..."] | None = None,
    ) -> tuple[Float[Array, "time width"], State]:
        """All outputs, and the state after the last step.

        **Arguments:**

        - `u`: the input.
        - `state`: where to go on from; by default the beginning.
        - `dt`: how long each sample lasts: one number, or one for each step; 1 by default.
        - `mask`: False where there is padding, which leaves the state alone.
        """
        if u.ndim != 2 or u.shape[1] != len(self.D):
            raise ValueError(f"u must have shape (time, {len(self.D)}), got {u.shape}")
        if state is not None and self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: state must be None")
        state = self.initial_state() if state is None else state
        length = len(u)
        dt = self._durations(dt, length)
        if mask is not None and mask.shape != (length,):
            raise ValueError(f"mask must have shape ({length},), got {mask.shape}")
        if length == 0:
            return u, state

        signal = u.astype(self.D.dtype)
        if mask is not None:
            signal = jnp.where(mask[:, None], signal, 0.0)
        forward = ticks(self.clock, length, state.time, dt, mask)
        x = self._states(False, signal, forward, state.modes)
        toward, backward = jnp.split(self.C, 2, axis=1) if self.bidirectional else (self.C, None)
        y = x @ toward.T
        if backward is not None:
            back = reversed_ticks(self.clock, length, dt, mask)
            y += self._states(True, signal, back, jnp.zeros_like(state.modes)) @ backward.T
        passed = jnp.broadcast_to(dt, (length,)).sum(where=mask)
        return (y + self.D * signal).astype(u.dtype), State(from_halves(x[-1]), state.time + passed)

    def step(
        self, u: Float[Array, " width"], state: State, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], State]:
        """One step of the scan."""
        if self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: it has no step")
        if u.shape != self.D.shape:
            raise ValueError(f"u must have shape {self.D.shape}, got {u.shape}")
        dt = self._durations(dt, 1).reshape(())
        signal = u.astype(self.D.dtype)
        elapsed = ticks(self.clock, 1, state.time, dt, None).reshape(())
        w, B = self._modes()
        exponent = step_exponents(self.discretisation, w, elapsed)
        gate, rest = jax.lax.complex(*gates(*exponent)), jax.lax.complex(*complements(*exponent))
        z = gate * state.modes + rest * (B @ signal)
        y = self.C @ to_halves(z) + self.D * signal
        return y.astype(u.dtype), State(z, state.time + dt)

    def initial_state(self) -> State:
        """The state before the first sample."""
        zero = jnp.zeros(sum(self.sizes), self.D.dtype)
        return State(zero + 0j, jnp.zeros((), self.D.dtype))

    def _durations(self, dt: ArrayLike | None, length: int) -> Float[Array, "*time"]:
        durations = jnp.asarray(1.0 if dt is None else dt, self.D.dtype)
        if durations.shape not in ((), (length,)):
            raise ValueError(
                f"dt must be a number or have shape ({length},), got {durations.shape}"
            )
        return durations

    def _steps(self) -> Float[Array, " modes"]:
        dt = jnp.exp(self.log_dt)
        if len(dt) == sum(self.sizes):
            return dt
        return jnp.repeat(dt, np.array(self.sizes), total_repeat_length=sum(self.sizes))

    def _states(
        self,
        reverse: bool,
        signal: Float[Array, "time width"],
        elapsed: Float[Array, "*time"],
        start: Complex[Array, " modes"],
    ) -> Float[Array, "time 2*modes"]:
        """The modes after each step, in halves."""
        w, B = self._modes()
        h0 = to_halves(start)
        if elapsed.ndim:
            held = signal @ to_halves(B, axis=0).T
            return average(reverse, self.discretisation, w, elapsed, held, h0)
        # All steps are equal: 1 − g goes into B, which spares a product in every step.
        exponent = step_exponents(self.discretisation, w, elapsed)
        folded = jax.lax.complex(*complements(*exponent))[:, None] * B
        return scan(reverse, gates(*exponent), signal @ to_halves(folded, axis=0).T, h0)

    def _modes(self) -> tuple[Parts, Complex[Array, "modes width"]]:
        """Decay and turn of each mode in one time step Δ, and B/λ."""
        decay, frequency, gain = self.bank()
        B = from_halves(self.B, axis=0) * (gain / jax.lax.complex(decay, frequency))[:, None]
        dt = self._steps()
        return (decay * dt, frequency * dt), B

    def _scale(
        self, blocks: Sequence[Spectrum], directions: Complex[Array, "modes width"]
    ) -> Float[Array, "modes 1"]:
        """What makes the output of unit variance for white input: half from the modes, half from D.

        Every block gets the same share. A mode's variance is |b̄|²/(1 − |g|²); under the
        scale-invariant clock, where it falls with time, that of the first sample counts.
        """
        rates = np.concatenate([block.rates for block in blocks])
        gains = np.concatenate([block.gains for block in blocks])
        if self.clock == "uniform":
            passing = self._steps()
            exponent = exponents(
                self.discretisation,
                jnp.asarray(np.real(rates)) * passing,
                jnp.asarray(np.imag(rates)) * passing,
            )
            rest = jax.lax.complex(*complements(*exponent))
            power = np.abs(rest) ** 2 / -np.expm1(-2 * exponent[0])
        else:
            power = np.ones(len(rates))
        norms = np.sum(np.abs(np.asarray(directions)) ** 2, axis=1)
        variance = power * norms * (gains / np.abs(rates)) ** 2
        ends = np.cumsum(self.sizes)[:-1]
        scales = [
            np.full(len(part), np.sqrt(len(rates) / (2 * len(blocks) * part.sum())))
            for part in np.split(variance, ends)
        ]
        scale = np.concatenate(scales)
        if isinstance(self.bank, FreeBank):
            scale = scale * gains
        return jnp.asarray(scale, self.log_dt.dtype)[:, None]


def _dt_range(
    clock: str, dt_min: float | None, dt_max: float | None, length: SupportsIndex | None
) -> tuple[float, float]:
    if clock == "scale-invariant":
        low, high = 0.3, 3.0
    elif length is not None:
        high = 0.5
        low = min(high, 2 / check_count("length", length, smallest=1))
    else:
        low, high = 1e-3, 1e-1
    low = low if dt_min is None else check_positive("dt_min", dt_min)
    high = high if dt_max is None else check_positive("dt_max", dt_max)
    if low > high:
        raise ValueError(f"dt_min must not exceed dt_max, got {low:g} > {high:g}")
    return low, high


def _directions(
    key: PRNGKeyArray, blocks: Sequence[Spectrum], width: int, shared: bool
) -> Complex[Array, "modes width"]:
    """Random input directions of about unit length: one for each mode, or a real one for a block.

    That of a real mode is real.
    """
    sizes = [len(block.rates) for block in blocks]
    if shared:
        one = jax.random.normal(key, (len(sizes), width)) / np.sqrt(width)
        return jnp.repeat(one, np.array(sizes), axis=0, total_repeat_length=sum(sizes)) + 0j
    is_real = np.imag(np.concatenate([block.rates for block in blocks]))[:, None] == 0
    parts = jax.random.normal(key, (2, sum(sizes), width)) / np.sqrt(2 * width)
    return jax.lax.complex(
        parts[0] * np.where(is_real, np.sqrt(2), 1), parts[1] * np.where(is_real, 0, 1)
    )


def _readout(
    key: PRNGKeyArray, blocks: Sequence[Spectrum], width: int, scans: int
) -> Float[Array, "width read"]:
    """Random weights of real and imaginary parts; for y = Re(c z) they are Re c and −Im c.

    A real mode gets no imaginary weight. Nothing then moves it off the real axis, neither its
    frequency nor its input: all three gradients vanish.
    """
    rates = np.concatenate([block.rates for block in blocks])
    weight = jax.random.normal(key, (width, scans, 2, len(rates)))
    weight = weight.at[:, :, 1].multiply(np.imag(rates) != 0)
    return weight.reshape(width, -1) / np.sqrt(len(rates) * scans)
