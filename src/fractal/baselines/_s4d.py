"""S4D: one diagonal system per channel, as a convolution or a recurrence (Gu et al., 2022)."""

from typing import SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_flag, check_order
from .._engine.discretize import gate_and_complement
from .._engine.inputs import check_key, compiled_call, compiled_step
from .._engine.pair import Pair
from .._engine.step_size import dt_range
from .._options import DISCRETIZATIONS
from ..nn import role
from ._convolution import check_causal, check_scalar_dt
from ._diagonal import SCANS, Diagonal
from ._legs import normal_legs
from ._parameters import check_copies, from_pairs, init_parameters, tile_channels, to_pairs

INITS = ("legs", "lin", "inv")


class S4D(eqx.Module):
    """dx/dt = A x + B u, y = 2 Re(C x) + D u per channel, with diagonal A.

    A = −exp(log_decay) + i·frequency is stable by construction.

    >>> import jax
    >>> from fractal.baselines import S4D
    >>> ssm = S4D(width=4, order=16, init="inv", key=jax.random.key(0))
    >>> u = jax.random.normal(jax.random.key(1), (100, 4))
    >>> y, state = ssm(u)
    >>> y_t, state = ssm.step(u[0], state)  # streaming
    >>> y.shape, state.shape
    ((100, 4), (4, 8))
    """

    log_decay: Float[Array, "copies modes"] = eqx.field(metadata=role("dynamics"))
    frequency: Float[Array, "copies modes"] = eqx.field(metadata=role("dynamics"))
    B: Float[Array, "copies modes 2"] = eqx.field(metadata=role("input"))
    C: Float[Array, "scans width modes 2"] = eqx.field(metadata=role("readout"))
    D: Float[Array, " width"] = eqx.field(metadata=role("readout"))
    log_dt: Float[Array, " width"] = eqx.field(metadata=role("step_size"))
    discretization: str = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)
    scan: str = eqx.field(static=True, default="convolution")

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 64,
        init: str = "legs",
        discretization: str = "zoh",
        bidirectional: bool = False,
        copies: SupportsIndex = 1,
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        scan: str = "convolution",
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: size N of the real state per channel; N/2 complex modes are stored.
        - `init`: `"legs"`, the normal part of LegS; `"lin"`, frequencies πn; `"inv"`,
          (N/π)(N/(2n+1) − 1).
        - `discretization`: `"zoh"` or `"bilinear"`.
        - `bidirectional`: add a second kernel, with a separate C, over later steps.
        - `copies`: number of sets of A and B that the channels share, a divisor of `width`.
        - `dt_min`, `dt_max`: range of the initial step sizes Δ, log-uniform, one per channel.
        - `scan`: `"convolution"`, by FFT; or the recurrence, by one of the methods of
          `fractal.nn.linear_scan`: `"auto"`, `"sequential"`, `"associative"` or `"chunked"`. The
          recurrence takes time × width × modes memory. Use it for inputs of a large dynamic range:
          its outputs do not depend on later inputs, whereas the rounding error of an FFT is
          relative to the largest input at all steps.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        modes = check_order(order) // 2
        copies = check_copies(copies, width)
        check_choice("init", init, INITS)
        check_choice("discretization", discretization, DISCRETIZATIONS)
        frequency, B = _initial_system(init, modes)
        self.log_decay = jnp.full((copies, modes), np.log(0.5))
        self.frequency = jnp.tile(jnp.asarray(frequency), (copies, 1))
        self.B = to_pairs(np.tile(B, (copies, 1)))
        ends = dt_range("uniform", dt_min, dt_max, None)
        scans = 2 if bidirectional else 1
        self.C, self.D, self.log_dt = init_parameters(
            key, width=width, modes=modes, scans=scans, ends=ends
        )
        self.discretization = discretization
        self.bidirectional, self.scan = bidirectional, scan

    def __check_init__(self):
        check_choice("discretization", self.discretization, DISCRETIZATIONS)
        check_choice("scan", self.scan, SCANS)

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: Complex[Array, "width modes"] | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Complex[Array, "width modes"] | None]:
        """Outputs, and the state after the last step (None if bidirectional).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: state to resume from; zero by default.
        - `dt`: factor of Δ, the same for all steps; 1 by default.
        - `lengths`: number of real steps; later steps are padding, treated as zeros.
        - `mask`: boolean, False at padding.
        """
        return self._system(dt).run(u, state, lengths, mask, self.scan)

    @compiled_step
    def step(
        self, u: ArrayLike, state: Complex[Array, "width modes"], dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Complex[Array, "width modes"]]:
        """Output (width,) for one sample u (width,), and the next state."""
        return self._system(dt).step(u, state)

    def initial_state(self) -> Complex[Array, "width modes"]:
        """The state before the first sample: zero."""
        check_causal(len(self.C))
        return jnp.zeros_like(from_pairs(self.C[0]))

    def _system(self, dt: ArrayLike | None) -> Diagonal:
        """The discretized system of each channel."""
        decay, frequency, B = (
            tile_channels(x, len(self.D))
            for x in (jnp.exp(self.log_decay), self.frequency, from_pairs(self.B))
        )
        step = jnp.exp(self.log_dt)[:, None]
        factor = check_scalar_dt(dt, self.D.dtype)
        _, complement = gate_and_complement(
            self.discretization, Pair(decay * step, -frequency * step), factor
        )
        b = B * jax.lax.complex(*complement.parts) / jax.lax.complex(decay, -frequency)
        x = -decay * step * factor, frequency * step * factor
        w = jax.lax.complex(*(x if self.discretization == "zoh" else _log_bilinear(*x)))
        return Diagonal(w, b, 2 * from_pairs(self.C), self.D)


def _initial_system(init: str, modes: int) -> tuple[Float[np.ndarray, " modes"], np.ndarray]:
    """Initial frequencies and B."""
    n, order = np.arange(modes), 2 * modes
    if init == "legs":
        legs = normal_legs(order)
        return np.imag(legs.eigenvalues), legs.B
    one = np.ones(modes, complex)
    return (np.pi * n if init == "lin" else order / np.pi * (order / (2 * n + 1) - 1)), one


def _log_bilinear(
    real: Float[Array, "..."], imaginary: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """log((1 + x/2)/(1 − x/2)), without cancellation for small or large x.

    The real part follows from |1 + x/2|² − |1 − x/2|² = 2 Re x. The imaginary part is the argument
    of (1 + x/2)(1 − x̄/2).
    """
    denominator = (1 - real / 2) ** 2 + (imaginary / 2) ** 2
    change = jnp.maximum(2 * real / denominator, -1 + jnp.finfo(real.dtype).eps)
    cosine = 1 - (real**2 + imaginary**2) / 4
    # The phase of a zero gate is undefined; its gradient must be finite.
    cosine = jnp.where((cosine == 0) & (imaginary == 0), 1.0, cosine)
    return jnp.log1p(change) / 2, jnp.arctan2(imaginary, cosine)
