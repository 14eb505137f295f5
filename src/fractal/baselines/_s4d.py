"""S4D: a diagonal system for each channel, as a convolution (Gu et al., 2022)."""

from typing import SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_flag, check_order
from .._engine.discretize import DISCRETIZATIONS, gate_and_rest
from .._engine.inputs import check_key, compiled_call, compiled_step
from .._engine.step_size import dt_range
from ..nn import role
from ._convolution import check_causal, check_rescale
from ._diagonal import Diagonal
from ._legs import normal_legs
from ._parameters import check_copies, draw, from_pairs, shared, to_pairs

INITS = ("legs", "lin", "inv")


class S4D(eqx.Module):
    """dx/dt = A x + B u, y = 2 Re(C x) + D u, with A diagonal, for each channel by itself.

    A = −exp(log_decay) + i·frequency: no step of training makes it unstable.

    >>> import jax
    >>> from fractal.baselines import S4D
    >>> ssm = S4D(width=4, order=16, init="inv", key=jax.random.key(0))
    >>> u = jax.random.normal(jax.random.key(1), (100, 4))
    >>> y, state = ssm(u)
    >>> y_t, state = ssm.step(u[0], state)  # and on, one sample at a time
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
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: N, size of each channel's real state; N/2 complex modes are kept.
        - `init`: `"legs"`, LegS's normal form; `"lin"`, frequencies πn; `"inv"`,
          (N/π)(N/(2n+1) − 1).
        - `discretization`: `"zoh"` or `"bilinear"`.
        - `bidirectional`: a second kernel, of its own C, for what comes after.
        - `copies`: how many sets of A and B the channels share, from 1 to `width`, a divisor of it.
        - `dt_min`, `dt_max`: range of the initial time steps Δ, log-uniform, one for each channel.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        modes = check_order(order) // 2
        copies = check_copies(copies, width)
        check_choice("init", init, INITS)
        check_choice("discretization", discretization, DISCRETIZATIONS)
        frequency, B = _start(init, modes)
        self.log_decay = jnp.full((copies, modes), np.log(0.5))
        self.frequency = jnp.tile(jnp.asarray(frequency), (copies, 1))
        self.B = to_pairs(np.tile(B, (copies, 1)))
        ends = dt_range("uniform", dt_min, dt_max, None)
        scans = 2 if bidirectional else 1
        self.C, self.D, self.log_dt = draw(key, width=width, modes=modes, scans=scans, ends=ends)
        self.discretization, self.bidirectional = discretization, bidirectional

    def __check_init__(self):
        check_choice("discretization", self.discretization, DISCRETIZATIONS)

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: Complex[Array, "width modes"] | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Complex[Array, "width modes"] | None]:
        """All outputs, and the state after the last step (None for a bidirectional layer).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: the state to resume from; zero by default.
        - `dt`: one factor of Δ for all steps; 1 by default.
        - `lengths`: number of real steps; the rest is padding, which counts as zeros.
        - `mask`: boolean, False at padding.
        """
        return self._system(dt).run(u, state, lengths, mask)

    @compiled_step
    def step(
        self, u: ArrayLike, state: Complex[Array, "width modes"], dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Complex[Array, "width modes"]]:
        """One step of the recurrence, with the numbers of the convolution; u is (width,)."""
        return self._system(dt).step(u, state)

    def initial_state(self) -> Complex[Array, "width modes"]:
        """The state before the first sample."""
        check_causal(len(self.C))
        return jnp.zeros_like(self.C[0, ..., 0]) + 0j

    def _system(self, dt: ArrayLike | None) -> Diagonal:
        """The discrete system of each channel."""
        decay, frequency, B = (
            shared(x, len(self.D))
            for x in (jnp.exp(self.log_decay), self.frequency, from_pairs(self.B))
        )
        step = jnp.exp(self.log_dt)[:, None]
        factor = check_rescale(dt, self.D.dtype)
        _, rest = gate_and_rest(self.discretization, (decay * step, -frequency * step), factor)
        b = B * jax.lax.complex(*rest) / jax.lax.complex(decay, -frequency)
        x = -decay * step * factor, frequency * step * factor
        w = jax.lax.complex(*(x if self.discretization == "zoh" else _log_bilinear(*x)))
        return Diagonal(w, b, 2 * from_pairs(self.C), self.D)


def _start(init: str, modes: int) -> tuple[Float[np.ndarray, " modes"], np.ndarray]:
    """Frequencies and B."""
    n, order = np.arange(modes), 2 * modes
    if init == "legs":
        legs = normal_legs(order)
        return np.imag(legs.eigenvalues), legs.B
    one = np.ones(modes, complex)
    return (np.pi * n if init == "lin" else order / np.pi * (order / (2 * n + 1) - 1)), one


def _log_bilinear(
    real: Float[Array, "..."], imaginary: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """log((1 + x/2)/(1 − x/2)) with all its digits, whether x is small or large.

    |1 + x/2|² − |1 − x/2|² = 2 Re x gives the real part, (1 + x/2)(1 − x̄/2) the angle.
    """
    below = (1 - real / 2) ** 2 + (imaginary / 2) ** 2
    lost = jnp.maximum(2 * real / below, -1 + jnp.finfo(real.dtype).eps)
    across = 1 - (real**2 + imaginary**2) / 4
    across = jnp.where((across == 0) & (imaginary == 0), 1.0, across)  # a gate of zero has no angle
    return jnp.log1p(lost) / 2, jnp.arctan2(imaginary, across)
