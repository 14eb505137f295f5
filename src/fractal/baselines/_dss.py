"""DSS: diagonal state spaces with exponential or softmax kernels (Gupta et al., 2022)."""

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
    check_key,
    check_padding,
    check_sequence,
    compiled_call,
    compiled_step,
    mask_padding,
)
from .._engine.pair import Pair
from .._engine.step_size import dt_range
from ..nn import role
from ._convolution import check_causal, check_scalar_dt, convolve
from ._diagonal import SCANS, Diagonal, exponential_sums
from ._legs import normal_legs
from ._parameters import from_pairs, log_steps

KERNELS = ("exp", "softmax")
_SMALLEST_SQUARE = 1e-7  # added to |x|² in 1/x


class DSS(eqx.Module):
    """Convolution with kernels Re Σ W_n k_n of N complex modes, shared by all channels.

    The step sizes are per channel, with separate Δ for the real and imaginary parts of an
    eigenvalue, equal at first: x = Δ₀ Re λ + iΔ₁ Im λ.

    - `"exp"`: k_l = (e^x − 1)/λ · e^{lx} with Re λ = −exp(real); equivalent to a recurrence.
    - `"softmax"`: k_l = softmax_l(lx)/λ over the length of the sequence, with Re λ of any sign. The
      kernel depends on the length, padding included, so that there is no state.

    >>> import jax
    >>> from fractal.baselines import DSS
    >>> ssm = DSS(width=4, order=8, kernel="softmax", key=jax.random.key(0))
    >>> y, _ = ssm(jax.numpy.ones((100, 4)))
    >>> y.shape
    (100, 4)
    """

    real: Float[Array, " modes"] = eqx.field(metadata=role("dynamics"))
    frequency: Float[Array, " modes"] = eqx.field(metadata=role("dynamics"))
    W: Float[Array, "scans width modes 2"] = eqx.field(metadata=role("readout"))
    D: Float[Array, " width"] = eqx.field(metadata=role("readout"))
    log_dt: Float[Array, "width 2"] = eqx.field(metadata=role("step_size"))
    kernel: str = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)
    scan: str = eqx.field(static=True, default="convolution")

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 64,
        kernel: str = "exp",
        bidirectional: bool = False,
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        scan: str = "convolution",
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: number N of complex modes, initialized by the normal part of LegS of order 2N
          (N conjugate pairs).
        - `kernel`: `"exp"` or `"softmax"`.
        - `bidirectional`: add a second kernel, with a separate W, over later steps.
        - `dt_min`, `dt_max`: range of the initial step sizes Δ, log-uniform, one per channel.
        - `scan`: `"convolution"`, by FFT; or the recurrence, as in `S4D`, for `kernel="exp"` only.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        order = check_count("order", order, smallest=1)
        check_choice("kernel", kernel, KERNELS)
        # For "exp" the parameter is log(−Re λ), so that Re λ < 0.
        self.real = jnp.full(order, np.log(0.5) if kernel == "exp" else -0.5)
        self.frequency = -jnp.imag(normal_legs(2 * order).eigenvalues)
        self.W, self.D, self.log_dt = _init_parameters(
            key,
            width=width,
            modes=order,
            scans=2 if bidirectional else 1,
            ends=dt_range("uniform", dt_min, dt_max, None),
        )
        self.kernel, self.bidirectional, self.scan = kernel, bidirectional, scan

    def __check_init__(self):
        check_choice("kernel", self.kernel, KERNELS)
        check_choice("scan", self.scan, SCANS)
        if self.kernel == "softmax" and self.scan != "convolution":
            raise ValueError(
                "scan must be 'convolution' for kernel='softmax', which depends on the length of "
                f"the sequence and is not a recurrence, got {self.scan!r}"
            )

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: Complex[Array, "width modes"] | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Complex[Array, "width modes"] | None]:
        """Outputs, and the state after the last step (None if bidirectional, or for softmax).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: state to resume from; zero by default. For `kernel="exp"` only.
        - `dt`: factor of Δ, the same for all steps; 1 by default.
        - `lengths`: number of real steps; later steps are padding, treated as zeros.
        - `mask`: boolean, False at padding.
        """
        if self.kernel == "exp":
            return self._system(dt).run(u, state, lengths, mask, self.scan)
        if state is not None:
            self._check_state()
        u = check_sequence(u, len(self.D))
        padding = check_padding(lengths, mask, len(u))
        signal = mask_padding(u.astype(self.D.dtype), padding.kept)
        if len(u) == 0:
            return u, None
        y = convolve(signal, self._softmax_kernels(dt, len(u))) + self.D[None] * signal
        return y.astype(u.dtype), None

    @compiled_step
    def step(
        self, u: ArrayLike, state: Complex[Array, "width modes"], dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Complex[Array, "width modes"]]:
        """Output (width,) for one sample u (width,), and the next state."""
        self._check_state()
        return self._system(dt).step(u, state)

    def initial_state(self) -> Complex[Array, "width modes"]:
        """The state before the first sample: zero."""
        self._check_state()
        return jnp.zeros_like(from_pairs(self.W[0]))

    def _check_state(self) -> None:
        if self.kernel == "softmax":
            raise ValueError(
                "kernel='softmax' depends on the length of the sequence: it has no step or state"
            )
        check_causal(len(self.W))

    def _exponents(
        self, dt: ArrayLike | None
    ) -> tuple[Complex[Array, "1 modes"], Complex[Array, "width modes"]]:
        """λ, and x = Δ₀ Re λ + iΔ₁ Im λ per channel."""
        real = (-jnp.exp(self.real) if self.kernel == "exp" else self.real)[None]
        frequency = self.frequency[None]
        step = check_scalar_dt(dt, self.D.dtype) * jnp.exp(self.log_dt)
        x = jax.lax.complex(step[:, :1] * real, step[:, 1:] * frequency)
        return jax.lax.complex(real, frequency), x

    def _system(self, dt: ArrayLike | None) -> Diagonal:
        eigenvalues, x = self._exponents(dt)
        one = jnp.ones((), self.D.dtype)
        _, complement = gate_and_complement("zoh", Pair(-x.real, -x.imag), one)
        b = jax.lax.complex(*complement.parts) / -eigenvalues
        return Diagonal(x, b, from_pairs(self.W), self.D)

    def _softmax_kernels(
        self, dt: ArrayLike | None, length: int
    ) -> Float[Array, "scans width {length}"]:
        """Re Σ (W/λ) softmax_l(l x), as (e^x − 1)/(e^{Lx} − 1) e^{lx}.

        A growing mode, Re x > 0, is computed as the decaying mode −x in reverse order.
        """
        eigenvalues, x = self._exponents(dt)
        grows = x.real > 0
        decaying = jnp.where(grows, -x, x)
        denominator = eigenvalues * (jnp.exp(length * decaying) - 1)
        # 1/denominator, regularized for modes that neither grow nor decay.
        square = denominator.real**2 + denominator.imag**2 + _SMALLEST_SQUARE
        inverse = denominator.conj() / square.astype(x.dtype)
        _, complement = gate_and_complement(
            "zoh", Pair(-decaying.real, -decaying.imag), jnp.ones((), x.real.dtype)
        )
        weights = from_pairs(self.W) * -jax.lax.complex(*complement.parts)[None] * inverse[None]
        forward = exponential_sums(jnp.where(grows[None], 0.0, weights), decaying, length)
        backward = exponential_sums(jnp.where(grows[None], weights, 0.0), decaying, length)
        return forward + backward[..., ::-1]


@functools.partial(jax.jit, static_argnames=("width", "modes", "scans", "ends"))
def _init_parameters(
    key: PRNGKeyArray, *, width: int, modes: int, scans: int, ends: tuple[float, float]
) -> tuple[Array, Array, Array]:
    """W, D and log Δ. Compiled once per combination of shapes."""
    keys = jax.random.split(key, 3)
    W = jax.random.normal(keys[0], (scans, width, modes, 2))
    log_dt = jnp.tile(log_steps(keys[2], (width, 1), ends), (1, 2))  # trained separately
    return W, jax.random.normal(keys[1], (width,)), log_dt
