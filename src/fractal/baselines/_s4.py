"""S4: diagonal plus low-rank state spaces, with the Cauchy kernel (Gu et al., 2022)."""

from typing import NamedTuple, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._checks import check_count, check_flag, check_order
from .._engine.inputs import (
    check_key,
    check_padding,
    check_sample,
    check_sequence,
    compiled_call,
    compiled_step,
    mask_padding,
)
from .._engine.step_size import dt_range
from ..nn import role
from ._convolution import check_causal, check_scalar_dt, convolve
from ._dplr import LowRank, dplr_kernels
from ._legs import normal_legs
from ._parameters import check_copies, from_pairs, init_parameters, tile_channels, to_pairs


class S4State(NamedTuple):
    """State of an `S4`: the modes, and the readout C, stored so that a step costs O(order)."""

    modes: Complex[Array, "width modes"]
    readout: Complex[Array, "width modes"]


class S4(eqx.Module):
    """dx/dt = (Λ − P P*) x + B u, y = 2 Re(C x) + D u per channel, with the bilinear rule.

    The trained parameter is C̃ = C (I − Āᴸ), for which the transform of the kernel of length L is a
    sum of fractions. L is `length`; shorter sequences use the first part of this kernel. Longer
    sequences and other step sizes are exact too, but slower, because C is computed from C̃.

    >>> import jax
    >>> from fractal.baselines import S4
    >>> ssm = S4(width=4, order=16, length=100, key=jax.random.key(0))
    >>> u = jax.random.normal(jax.random.key(1), (100, 4))
    >>> y, state = ssm(u)
    >>> y_t, state = ssm.step(u[0], state)  # streaming
    >>> y.shape, y_t.shape
    ((100, 4), (4,))
    """

    log_decay: Float[Array, "copies modes"] = eqx.field(metadata=role("dynamics"))
    frequency: Float[Array, "copies modes"] = eqx.field(metadata=role("dynamics"))
    P: Float[Array, "copies modes 2"] = eqx.field(metadata=role("dynamics"))
    B: Float[Array, "copies modes 2"] = eqx.field(metadata=role("input"))
    C: Float[Array, "scans width modes 2"] = eqx.field(metadata=role("readout"))
    D: Float[Array, " width"] = eqx.field(metadata=role("readout"))
    log_dt: Float[Array, " width"] = eqx.field(metadata=role("step_size"))
    length: int = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 64,
        length: SupportsIndex = 1024,
        bidirectional: bool = False,
        copies: SupportsIndex = 1,
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: size N of the real state per channel; N/2 complex modes are stored.
        - `length`: length L of the training sequences.
        - `bidirectional`: add a second kernel, with a separate C̃, over later steps.
        - `copies`: number of sets of Λ, P and B that the channels share, a divisor of `width`; all
          are initialized by LegS.
        - `dt_min`, `dt_max`: range of the initial step sizes Δ, log-uniform, one per channel.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        order, copies = check_order(order), check_copies(copies, width)
        self.length = check_count("length", length, smallest=1)
        self.bidirectional = bidirectional
        legs = normal_legs(order)
        self.log_decay = jnp.full((copies, order // 2), np.log(0.5))
        self.frequency = jnp.tile(jnp.imag(legs.eigenvalues), (copies, 1))
        self.P, self.B = (to_pairs(np.tile(x, (copies, 1))) for x in (legs.P, legs.B))
        C, self.D, self.log_dt = init_parameters(
            key,
            width=width,
            modes=order // 2,
            scans=2 if bidirectional else 1,
            ends=dt_range("uniform", dt_min, dt_max, None),
        )
        system = self._system(jnp.ones(()))
        self.C = to_pairs(system.truncated(from_pairs(C), self.length))

    def __check_init__(self):
        check_count("length", self.length, smallest=1)

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: S4State | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], S4State | None]:
        """Outputs, and the state after the last step (None if bidirectional).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: state to resume from, by the recurrence. By default zero, by convolution.
        - `dt`: factor of Δ, the same for all steps; 1 by default.
        - `lengths`: number of real steps; later steps are padding, treated as zeros.
        - `mask`: boolean, False at padding.
        """
        u = check_sequence(u, len(self.D))
        padding = check_padding(lengths, mask, len(u))
        signal = mask_padding(u.astype(self.D.dtype), padding.kept)
        system = self._system(check_scalar_dt(dt, self.D.dtype))
        if self.bidirectional:
            if state is not None:
                check_causal(len(self.C))
            y = convolve(signal, self._kernels(system, dt, len(u))) if len(u) else signal
            return (y + self.D[None] * signal).astype(u.dtype), None

        start = self.initial_state() if state is None else state

        # Without an initial state the scan serves only to compute the final state. XLA removes it
        # if that is not used.
        def advance(modes, sample):
            modes = system.step(modes, sample)
            return modes, 2 * jnp.sum(start.readout * modes, axis=-1).real

        modes, y = jax.lax.scan(advance, start.modes, signal)
        if state is None and len(u):
            y = convolve(signal, self._kernels(system, dt, len(u)))
        return (y + self.D[None] * signal).astype(u.dtype), S4State(modes, start.readout)

    @compiled_step
    def step(
        self, u: ArrayLike, state: S4State, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], S4State]:
        """Output (width,) for one sample u (width,), and the next state."""
        check_causal(len(self.C))
        u = check_sample(u, len(self.D))
        signal = u.astype(self.D.dtype)
        modes = self._system(check_scalar_dt(dt, self.D.dtype)).step(state.modes, signal)
        y = 2 * jnp.sum(state.readout * modes, axis=-1).real + self.D * signal
        return y.astype(u.dtype), S4State(modes, state.readout)

    def initial_state(self) -> S4State:
        """The state before the first sample: zero modes."""
        check_causal(len(self.C))
        (readout,) = self._readouts()
        return S4State(jnp.zeros_like(readout), readout)

    def _kernels(
        self, system: LowRank, dt: ArrayLike | None, length: int
    ) -> Float[Array, "scans width {length}"]:
        """Kernels of all channels. C̃ is valid for the trained Δ and up to the trained length."""
        if dt is None and length <= self.length:
            return dplr_kernels(system, from_pairs(self.C), self.length)[..., :length]
        return dplr_kernels(system, system.truncated(self._readouts(), length), length)

    def _readouts(self) -> Complex[Array, "scans width modes"]:
        """C from C̃, for each scan."""
        return self._system(jnp.ones_like(self.D[0])).recovered(from_pairs(self.C), self.length)

    def _system(self, dt: Float[Array, ""]) -> LowRank:
        parts = -jnp.exp(self.log_decay), self.frequency
        Lambda, P, B = (
            tile_channels(x, len(self.D))
            for x in (jax.lax.complex(*parts), from_pairs(self.P), from_pairs(self.B))
        )
        return LowRank(Lambda, P, B, dt * jnp.exp(self.log_dt)[:, None])
