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
from .._engine.discretize import gate_and_rest
from .._engine.inputs import (
    check_key,
    check_padding,
    check_sequence,
    compiled_call,
    compiled_step,
    without_padding,
)
from .._engine.step_size import dt_range
from ..nn import role
from ._convolution import check_causal, check_rescale, convolve
from ._diagonal import Diagonal, exponential_sums
from ._legs import normal_legs
from ._parameters import from_pairs, log_steps

KERNELS = ("exp", "softmax")
_SMALLEST_SQUARE = 1e-7  # added to |x|² in 1/x


class DSS(eqx.Module):
    """Kernels Re Σ W_n k_n with N complex modes, which all channels share, and Δ of each channel.

    Real and imaginary part of an eigenvalue have each a Δ of their own: x = Δ₀ Re λ + iΔ₁ Im λ.

    - `"exp"`: k_l = (e^x − 1)/λ · e^{lx} with Re λ = −exp(log_decay): a system with a state;
    - `"softmax"`: k_l = softmax_l(lx)/λ over the length of the sequence, Re λ of either sign. A
      longer sequence, be it by padding, changes the whole kernel: there is no state to go on from.

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

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 64,
        kernel: str = "exp",
        bidirectional: bool = False,
        dt_min: float = 1e-3,
        dt_max: float = 1e-1,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: N, number of complex modes; they start as half of LegS's normal form of 2N.
        - `kernel`: `"exp"` or `"softmax"`.
        - `bidirectional`: a second kernel, of its own W, for what comes after.
        - `dt_min`, `dt_max`: range of the initial time steps Δ, log-uniform, two for each channel.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        order = check_count("order", order, smallest=1)
        check_choice("kernel", kernel, KERNELS)
        # For "exp" log(−Re λ) is stored, which keeps it negative.
        self.real = jnp.full(order, np.log(0.5) if kernel == "exp" else -0.5)
        self.frequency = -jnp.imag(normal_legs(2 * order).eigenvalues)
        self.W, self.D, self.log_dt = _draw(
            key,
            width=width,
            modes=order,
            scans=2 if bidirectional else 1,
            ends=dt_range("uniform", dt_min, dt_max, None),
        )
        self.kernel, self.bidirectional = kernel, bidirectional

    def __check_init__(self):
        check_choice("kernel", self.kernel, KERNELS)

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: Complex[Array, "width modes"] | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Complex[Array, "width modes"] | None]:
        """All outputs, and the state after the last step (None where there is none).

        **Arguments:**

        - `u`: the input, (time, width).
        - `state`: the state to resume from; zero by default. For `kernel="exp"` only.
        - `dt`: one factor of Δ for all steps; 1 by default.
        - `lengths`: number of real steps; the rest is padding, which counts as zeros.
        - `mask`: boolean, False at padding.
        """
        if self.kernel == "exp":
            return self._system(dt).run(u, state, lengths, mask)
        if state is not None:
            self._check_state()
        u = check_sequence(u, len(self.D))
        padding = check_padding(lengths, mask, len(u))
        signal = without_padding(u.astype(self.D.dtype), padding.kept)
        if len(u) == 0:
            return u, None
        y = convolve(signal, self._softmax_kernels(dt, len(u))) + self.D * signal
        return y.astype(u.dtype), None

    @compiled_step
    def step(
        self, u: ArrayLike, state: Complex[Array, "width modes"], dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Complex[Array, "width modes"]]:
        """One step of the recurrence, with the numbers of the convolution; u is (width,)."""
        self._check_state()
        return self._system(dt).step(u, state)

    def initial_state(self) -> Complex[Array, "width modes"]:
        """The state before the first sample."""
        self._check_state()
        return jnp.zeros_like(self.W[0, ..., 0]) + 0j

    def _check_state(self) -> None:
        if self.kernel == "softmax":
            raise ValueError(
                "kernel='softmax' depends on the length of the sequence: it has no step or state"
            )
        check_causal(len(self.W))

    def _exponents(
        self, dt: ArrayLike | None
    ) -> tuple[Complex[Array, " modes"], Complex[Array, "width modes"]]:
        """λ, and x = Δ₀ Re λ + iΔ₁ Im λ for each channel."""
        real = -jnp.exp(self.real) if self.kernel == "exp" else self.real
        step = check_rescale(dt, self.D.dtype) * jnp.exp(self.log_dt)
        x = jax.lax.complex(step[:, :1] * real, step[:, 1:] * self.frequency)
        return jax.lax.complex(real, self.frequency), x

    def _system(self, dt: ArrayLike | None) -> Diagonal:
        eigenvalues, x = self._exponents(dt)
        _, rest = gate_and_rest("zoh", (-x.real, -x.imag), jnp.ones((), self.D.dtype))
        return Diagonal(x, jax.lax.complex(*rest) / -eigenvalues, from_pairs(self.W), self.D)

    def _softmax_kernels(
        self, dt: ArrayLike | None, length: int
    ) -> Float[Array, "scans width {length}"]:
        """Re Σ (W/λ) softmax_l(l x), as (e^x − 1)/(e^{Lx} − 1) e^{lx}.

        A mode that grows, Re x > 0, is one that falls, −x, told from the other end.
        """
        eigenvalues, x = self._exponents(dt)
        grows = x.real > 0
        falling = jnp.where(grows, -x, x)
        whole = eigenvalues * (jnp.exp(length * falling) - 1)
        # 1/whole, kept finite where a mode neither grows nor falls.
        inverse = whole.conj() / (whole.real**2 + whole.imag**2 + _SMALLEST_SQUARE)
        _, rest = gate_and_rest("zoh", (-falling.real, -falling.imag), jnp.ones((), x.real.dtype))
        weights = from_pairs(self.W) * -jax.lax.complex(*rest) * inverse
        forward = exponential_sums(jnp.where(grows, 0.0, weights), falling, length)
        backward = exponential_sums(jnp.where(grows, weights, 0.0), falling, length)
        return forward + backward[..., ::-1]


@functools.partial(jax.jit, static_argnames=("width", "modes", "scans", "ends"))
def _draw(
    key: PRNGKeyArray, *, width: int, modes: int, scans: int, ends: tuple[float, float]
) -> tuple[Array, Array, Array]:
    """W, D and log Δ, compiled once for all layers of a shape."""
    keys = jax.random.split(key, 3)
    W = jax.random.normal(keys[0], (scans, width, modes, 2))
    return W, jax.random.normal(keys[1], (width,)), log_steps(keys[2], (width, 2), ends)
