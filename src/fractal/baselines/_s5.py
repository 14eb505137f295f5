"""S5: one diagonal state-space system for all channels, computed by a scan (Smith et al., 2023)."""

import functools
from typing import SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_flag
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
from .._engine.recurrence import Scans, states
from .._engine.step_size import dt_range
from .._options import DISCRETIZATIONS, METHODS
from ..nn import role
from ._legs import normal_legs
from ._parameters import complex_normal, from_pairs, lecun_normal, log_steps, to_pairs

READOUTS = ("lecun", "trunc", "complex_normal")
_LARGEST_REAL = -1e-4  # upper bound of Re Λ for clip_eigs


class S5(eqx.Module):
    """x_k = Λ̄ x_{k−1} + B̄ u_k, y_k = 2 Re(C x_k) + D u_k, with the published parameterization.

    One mode of each conjugate pair is stored. Λ is initialized by J blocks of the normal part of
    LegS. Unlike in the published code, padding does not change the state.

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
    scan: str = eqx.field(static=True, default="auto")

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
        scan: str = "auto",
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: size of the real state; order/2 complex modes are stored.
        - `blocks`: number J of blocks of LegS, each of order `order/blocks`.
        - `C_init`: `"lecun"`, `"trunc"` or `"complex_normal"`. As published, the entries of C have
          variance 1/(order·width), 1/order and 1/2; the first two are multiplied by V.
        - `discretization`: `"zoh"` or `"bilinear"`.
        - `bidirectional`: add a second scan, in reverse time, with the same Λ and B. C is then the
          concatenation of C₁ and C₂.
        - `clip_eigs`: clip real parts of eigenvalues to at most −10⁻⁴.
        - `dt_min`, `dt_max`: range of the initial step sizes Δ, log-uniform, one per mode.
        - `scan`: method of the scan: `"auto"`, `"sequential"`, `"associative"` or `"chunked"`; see
          `fractal.nn.linear_scan`.
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
        self.B, self.C, self.D, self.log_step = _init_parameters(
            key,
            jnp.asarray(legs.V),
            blocks=blocks,
            width=width,
            C_init=C_init,
            scans=2 if bidirectional else 1,
            dt_ends=dt_range("uniform", dt_min, dt_max, None),
        )
        self.discretization, self.clip_eigs = discretization, clip_eigs
        self.bidirectional, self.scan = bidirectional, scan

    def __check_init__(self):
        check_choice("discretization", self.discretization, DISCRETIZATIONS)
        check_choice("scan", self.scan, METHODS)

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: Complex[Array, " modes"] | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        axis_name: str | None = None,
    ) -> tuple[Float[Array, "time width"], Complex[Array, " modes"]]:
        """Outputs, and the state after the last step.

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: state to resume from; zero by default.
        - `dt`: factors of Δ, non-negative: a scalar, or one per step; 1 by default.
        - `lengths`: number of real steps; later steps are padding, which does not change the state.
        - `mask`: boolean, False at padding, which may be at any step. `lengths` is faster.
        - `axis_name`: inside `jax.shard_map`, the mesh axis over which time is sharded. `u`, `mask`
          and `dt` with a time axis are then the parts of one device; all else is the same on all
          devices, and `lengths` counts the steps of all parts.
        """
        u = check_sequence(u, len(self.D))
        dt = check_durations(dt, len(u), self.D.dtype)
        kept, end = check_padding(lengths, mask, len(u), axis_name)
        if state is not None and self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: state must be None")
        state = self.initial_state() if state is None else state
        if len(u) == 0:
            return u, state
        signal = mask_padding(u.astype(self.D.dtype), kept)
        elapsed = dt if kept is None or end is not None else jnp.where(kept, dt, 0.0)
        start = complex_to_real(state)
        reverse, starts = (
            ((False, True), (None, None)) if self.bidirectional else ((False,), (start,))
        )
        scans = Scans(self.scan, reverse, axis_name)
        x = states(scans, self.discretization, self._modes(), (elapsed,), signal, starts)
        y = x @ self._readout().T + self.D[None] * signal
        last = last_state(scans.split(x)[0], end, start, axis_name)
        return y.astype(u.dtype), real_to_complex(last)

    @compiled_step
    def step(
        self, u: ArrayLike, state: Complex[Array, " modes"], dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Complex[Array, " modes"]]:
        """Output (width,) for one sample u (width,), and the next state."""
        if self.bidirectional:
            raise ValueError("a bidirectional layer needs the whole sequence: it has no step")
        u = check_sample(u, len(self.D))
        elapsed = check_durations(dt, 1, self.D.dtype).reshape(())
        signal = u.astype(self.D.dtype)
        w, B = self._modes()
        gate, complement = gate_and_complement(self.discretization, w, elapsed)
        response = B @ signal.astype(B.dtype)
        gate, complement = (jax.lax.complex(*pair.parts) for pair in (gate, complement))
        x = gate * state + complement * response
        y = self._readout() @ complex_to_real(x) + self.D * signal
        return y.astype(u.dtype), x

    def initial_state(self) -> Complex[Array, " modes"]:
        """The state before the first sample: zero."""
        return jnp.zeros_like(jax.lax.complex(self.Lambda_re, self.Lambda_im))

    def _modes(self) -> tuple[Pair, Complex[Array, "modes width"]]:
        """−ΛΔ and the steady-state response −B/Λ; B̄ = (1 − Λ̄)(−B/Λ) in both discretizations."""
        real = jnp.minimum(self.Lambda_re, _LARGEST_REAL) if self.clip_eigs else self.Lambda_re
        step = jnp.exp(self.log_step[:, 0])
        B = from_pairs(self.B) / -jax.lax.complex(real, self.Lambda_im)[:, None]
        return Pair(-real * step, -self.Lambda_im * step), B

    def _readout(self) -> Float[Array, "width read"]:
        """The real matrix of 2 Re(C x), acting on concatenated parts of the states of each scan."""
        scans = jnp.split(self.C, 2 if self.bidirectional else 1, axis=1)
        return 2 * jnp.concatenate([p for C in scans for p in (C[..., 0], -C[..., 1])], axis=1)


@functools.partial(jax.jit, static_argnames=("blocks", "width", "C_init", "scans", "dt_ends"))
def _init_parameters(
    key: PRNGKeyArray,
    V: Complex[Array, "order half"],
    *,
    blocks: int,
    width: int,
    C_init: str,
    scans: int,
    dt_ends: tuple[float, float],
) -> tuple[Array, Array, Array, Array]:
    """B, C, D and log Δ. Compiled once per combination of shapes."""
    keys = jax.random.split(key, 4)
    V = jax.scipy.linalg.block_diag(*[V] * blocks)
    order, modes = V.shape
    # The published code passes shape (order, width) to an initializer whose fan-in is the first
    # axis, and for "lecun" (width, order, 2) to one whose fan-in is the product of the first two.
    B = lecun_normal(keys[0], (order, width), fan_in=order).astype(V.dtype)
    B = to_pairs(V.conj().T @ B)
    if C_init == "complex_normal":
        C = complex_normal(keys[1], (width, scans * modes))
    else:
        fan_in = order * width if C_init == "lecun" else order
        samples = from_pairs(lecun_normal(keys[1], (width, scans, order, 2), fan_in))
        C = to_pairs((samples @ V).reshape(width, -1))
    return B, C, jax.random.normal(keys[2], (width,)), log_steps(keys[3], (modes, 1), dt_ends)
