"""S5: one state-space system for all channels, diagonal, run by a scan (Smith et al., 2023)."""

import functools
from typing import SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_flag
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
from ..nn import role
from ._legs import normal_legs
from ._parameters import complex_normal, from_pairs, lecun_normal, log_steps, to_pairs

READOUTS = ("lecun", "trunc", "complex_normal")
_LARGEST_REAL = -1e-4  # what clip_eigs leaves of an eigenvalue's real part


class S5(eqx.Module):
    """x_k = Λ̄ x_{k−1} + B̄ u_k, y_k = 2 Re(C x_k) + D u_k, with its published parameters.

    Of each conjugate pair one state is kept. Λ starts as J blocks of LegS's normal form. Padding
    leaves the state alone; the published code lets it through.

    >>> import jax
    >>> from fractal.baselines import S5
    >>> ssm = S5(width=4, order=16, blocks=2, key=jax.random.key(0))
    >>> y, state = ssm(jax.numpy.ones((100, 4)))
    >>> y.shape, state.shape
    ((100, 4), (8,))
    """

    Lambda_re: Float[Array, " modes"] = eqx.field(metadata=role("dynamics"))
    Lambda_im: Float[Array, " modes"] = eqx.field(metadata=role("dynamics"))
    B: Float[Array, "modes width 2"] = eqx.field(metadata=role("input"))
    C: Float[Array, "width read 2"] = eqx.field(metadata=role("readout"))
    D: Float[Array, " width"] = eqx.field(metadata=role("readout"))
    log_step: Float[Array, "modes 1"] = eqx.field(metadata=role("step_size"))
    discretization: str = eqx.field(static=True)
    clip_eigs: bool = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 128,
        blocks: SupportsIndex = 8,
        C_init: str = "lecun",
        discretization: str = "zoh",
        bidirectional: bool = False,
        clip_eigs: bool = False,
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: size of the real state, of which order/2 complex numbers are kept.
        - `blocks`: J, how many times LegS of order/blocks is repeated.
        - `C_init`: `"lecun"`, `"trunc"` or `"complex_normal"`. As published, the entries of C have
          variance 1/(order·width), 1/order and 1/2; the first two are turned by V.
        - `discretization`: `"zoh"` or `"bilinear"`.
        - `bidirectional`: read from a second scan, backwards in time, of the same Λ and B; C then
          holds C₁ and C₂ side by side.
        - `clip_eigs`: keep real parts of eigenvalues at or below −10⁻⁴.
        - `dt_min`, `dt_max`: range of the initial time steps Δ, log-uniform, one for each state.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        clip_eigs = check_flag("clip_eigs", clip_eigs)
        order = check_count("order", order, smallest=2)
        blocks = check_count("blocks", blocks, smallest=1)
        if order % (2 * blocks):
            raise ValueError(f"order must be a multiple of 2·blocks = {2 * blocks}, got {order}")
        check_choice("C_init", C_init, READOUTS)
        check_choice("discretization", discretization, DISCRETIZATIONS)
        legs = normal_legs(order // blocks)
        eigenvalues = np.tile(legs.eigenvalues, blocks)
        self.Lambda_re, self.Lambda_im = jnp.real(eigenvalues), jnp.imag(eigenvalues)
        self.B, self.C, self.D, self.log_step = _draw(
            key,
            jnp.asarray(legs.V),
            blocks=blocks,
            width=width,
            C_init=C_init,
            scans=2 if bidirectional else 1,
            dt_ends=dt_range("uniform", dt_min, dt_max, None),
        )
        self.discretization, self.clip_eigs = discretization, clip_eigs
        self.bidirectional = bidirectional

    def __check_init__(self):
        check_choice("discretization", self.discretization, DISCRETIZATIONS)

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: Complex[Array, " modes"] | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Complex[Array, " modes"]]:
        """All outputs, and the state after the last step.

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: the state to resume from; zero by default.
        - `dt`: factor of Δ, not negative: one number, or one per step; 1 by default.
        - `lengths`: number of real steps; the rest is padding, which leaves the state unchanged.
        - `mask`: boolean, False at padding, wherever it stands. `lengths` is faster.
        """
        u = check_sequence(u, len(self.D))
        dt = check_durations(dt, len(u), self.D.dtype)
        kept, end = check_padding(lengths, mask, len(u))
        if state is not None and self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: state must be None")
        state = self.initial_state() if state is None else state
        if len(u) == 0:
            return u, state
        signal = without_padding(u.astype(self.D.dtype), kept)
        elapsed = dt if kept is None or end is not None else jnp.where(kept, dt, 0.0)
        x = self._states(False, signal, elapsed, state)
        forward, *backward = self._readouts()
        y = x @ forward.T + self.D * signal
        for readout in backward:
            y += self._states(True, signal, elapsed, jnp.zeros_like(state)) @ readout.T
        return y.astype(u.dtype), from_halves(last_state(x, end, to_halves(state)))

    @compiled_step
    def step(
        self, u: ArrayLike, state: Complex[Array, " modes"], dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Complex[Array, " modes"]]:
        """One step of the scan; u is of shape (width,)."""
        if self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: it has no step")
        u = check_sample(u, len(self.D))
        elapsed = check_durations(dt, 1, self.D.dtype).reshape(())
        signal = u.astype(self.D.dtype)
        w, B = self._modes()
        gate, rest = gate_and_rest(self.discretization, w, elapsed)
        x = jax.lax.complex(*gate) * state + jax.lax.complex(*rest) * (B @ signal)
        y = self._readouts()[0] @ to_halves(x) + self.D * signal
        return y.astype(u.dtype), x

    def initial_state(self) -> Complex[Array, " modes"]:
        """The state before the first sample."""
        return jnp.zeros_like(self.Lambda_re) + 0j

    def _states(self, reverse: bool, signal: Array, elapsed: Array, start: Array) -> Array:
        return states(reverse, self.discretization, self._modes(), elapsed, signal, start)

    def _modes(self) -> tuple[Parts, Complex[Array, "modes width"]]:
        """−ΛΔ in parts, and −B/Λ: both discretizations then read B̄ = (1 − Λ̄)(−B/Λ)."""
        real = jnp.minimum(self.Lambda_re, _LARGEST_REAL) if self.clip_eigs else self.Lambda_re
        step = jnp.exp(self.log_step[:, 0])
        B = from_pairs(self.B) / -jax.lax.complex(real, self.Lambda_im)[:, None]
        return (-real * step, -self.Lambda_im * step), B

    def _readouts(self) -> list[Float[Array, "width halves"]]:
        """2 Re(C x) as a product with the halves of x, for each scan."""
        parts = jnp.split(self.C, 2 if self.bidirectional else 1, axis=1)
        return [2 * jnp.concatenate([C[..., 0], -C[..., 1]], axis=1) for C in parts]


@functools.partial(jax.jit, static_argnames=("blocks", "width", "C_init", "scans", "dt_ends"))
def _draw(
    key: PRNGKeyArray,
    V: Complex[Array, "order half"],
    *,
    blocks: int,
    width: int,
    C_init: str,
    scans: int,
    dt_ends: tuple[float, float],
) -> tuple[Array, Array, Array, Array]:
    """B, C, D and log Δ, compiled once for all layers of a shape."""
    keys = jax.random.split(key, 4)
    V = jax.scipy.linalg.block_diag(*[V] * blocks)
    order, modes = V.shape
    # The published code hands (order, width) to an initializer whose fan-in is the first axis,
    # and for "lecun" (width, order, 2) to one whose fan-in is the product of the first two.
    B = to_pairs(V.conj().T @ lecun_normal(keys[0], (order, width), fan_in=order))
    if C_init == "complex_normal":
        C = complex_normal(keys[1], (width, scans * modes))
    else:
        fan_in = order * width if C_init == "lecun" else order
        drawn = from_pairs(lecun_normal(keys[1], (width, scans, order, 2), fan_in))
        C = to_pairs((drawn @ V).reshape(width, -1))
    return B, C, jax.random.normal(keys[2], (width,)), log_steps(keys[3], (modes, 1), dt_ends)
