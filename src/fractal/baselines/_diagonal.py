"""One diagonal system per channel, as a convolution or a recurrence (S4D, DSS).

x_k = e^w x_{k−1} + b u_k and y_k = Re Σ c x_k per channel. The kernel is a sum of exponentials,
K_l = Re Σ c b e^{lw}. With l = aM + r it is a product of two small matrices, e^{aMw} and e^{rw}, so
that neither arrays of size (width, modes, time) nor that many exponentials are needed. The
recurrence, by the scan of all layers, stores the states of all modes at all steps.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float

from .._engine.inputs import check_padding, check_sample, check_sequence, mask_padding
from .._engine.pair import Pair, complex_to_real, real_to_complex
from .._engine.recurrence import Scans
from .._engine.recurrence import scan as recurrence
from .._engine.sharding import previous
from .._options import METHODS
from ._convolution import check_causal, convolve

SCANS = ("convolution", *METHODS)
_PRECISION = lax.Precision.HIGHEST  # full precision on all devices


class Diagonal(NamedTuple):
    """Logarithms w of the gates, input weights b and readouts c per channel and mode, and D."""

    w: Complex[Array, "width modes"]
    b: Complex[Array, "width modes"]
    c: Complex[Array, "scans width modes"]
    D: Float[Array, " width"]

    def run(
        self,
        u: ArrayLike,
        state: Complex[Array, "width modes"] | None,
        lengths: ArrayLike | None,
        mask: ArrayLike | None,
        scan: str,
    ) -> tuple[Float[Array, "time width"], Complex[Array, "width modes"] | None]:
        """Outputs, and the state after the last step (None if bidirectional).

        `scan` is `"convolution"`, or a method of computing the recurrence.
        """
        u = check_sequence(u, len(self.D))
        padding = check_padding(lengths, mask, len(u))
        signal = mask_padding(u.astype(self.D.dtype), padding.kept)
        if state is not None:
            check_causal(len(self.c))
        if len(u) == 0:
            return u, state
        if scan == "convolution":
            y, after = self._convolved(signal, state)
        else:
            y, after = self._scanned(scan, signal, state)
        return (y + self.D[None] * signal).astype(u.dtype), after

    def _convolved(
        self, signal: Float[Array, "time width"], state: Complex[Array, "width modes"] | None
    ) -> tuple[Float[Array, "time width"], Complex[Array, "width modes"] | None]:
        length = len(signal)
        y = convolve(signal, exponential_sums(self.c * self.b[None], self.w, length))
        if len(self.c) == 2:
            return y, None
        after = self.b * exponentially_weighted(signal, self.w)
        if state is not None:
            start = self.c * jnp.exp(self.w)[None] * state[None]
            y += exponential_sums(start, self.w, length)[0].T
            after += jnp.exp(length * self.w) * state
        return y, after

    def _scanned(
        self, method: str, signal: Float[Array, "time width"], state: Complex[Array, "..."] | None
    ) -> tuple[Float[Array, "time width"], Complex[Array, "width modes"] | None]:
        gate, b = jnp.exp(self.w).reshape(-1), jnp.stack([self.b.real, self.b.imag])
        inputs = (signal[:, None, :, None] * b[None]).reshape(len(signal), -1)
        start = None if state is None else complex_to_real(state.reshape(-1))
        count = len(self.c)
        scans = Scans(method, (False, True)[:count])
        gates, starts = (Pair(gate.real, gate.imag),) * count, (start, None)[:count]
        x = scans.split(recurrence(scans, gates, (inputs,) * count, starts))
        y = self._read(0, x[0])
        if count == 2:
            # The second kernel excludes the present step.
            return y + self._read(1, previous(None, True, x[1], None)), None
        return y, real_to_complex(x[0][-1]).reshape(self.w.shape)

    def _read(self, scan: int, x: Float[Array, "time parts"]) -> Float[Array, "time width"]:
        """Re Σ c x per channel, for states with concatenated real and imaginary parts."""
        c = jnp.stack([self.c[scan].real, -self.c[scan].imag])
        return jnp.sum(c[None] * x.reshape(len(x), *c.shape), axis=(1, 3))

    def step(
        self, u: ArrayLike, state: Complex[Array, "width modes"]
    ) -> tuple[Float[Array, " width"], Complex[Array, "width modes"]]:
        """One step of the recurrence, equivalent to the convolution."""
        check_causal(len(self.c))
        u = check_sample(u, len(self.D))
        signal = u.astype(self.D.dtype)
        state = jnp.exp(self.w) * state + self.b * signal.astype(self.b.dtype)[:, None]
        y = jnp.sum(self.c[0] * state, axis=-1).real + self.D * signal
        return y.astype(u.dtype), state


def exponential_sums(
    coefficients: Complex[Array, "scans width modes"],
    w: Complex[Array, "width modes"],
    length: int,
) -> Float[Array, "scans width {length}"]:
    """Re Σ_n c_n e^{l w_n} for l = 0 … length − 1."""
    coarse, fine = _powers(w, length)
    left = coefficients[:, :, None, :] * jnp.swapaxes(coarse, 1, 2)[None]
    # The real part of a complex product, as one real product over concatenated parts.
    left = jnp.concatenate([left.real, -left.imag], axis=-1)
    right = jnp.concatenate([fine.real, fine.imag], axis=1)
    sums = jnp.einsum("shan,hnr->shar", left, right, precision=_PRECISION)
    return sums.reshape(*sums.shape[:2], -1)[..., :length]


def exponentially_weighted(
    u: Float[Array, "time width"], w: Complex[Array, "width modes"]
) -> Complex[Array, "width modes"]:
    """Σ_l e^{(L − 1 − l) w} u_l."""
    coarse, fine = _powers(w, len(u))
    blocks, size = coarse.shape[-1], fine.shape[-1]
    newest_first = jnp.pad(u[::-1].T, ((0, 0), (0, blocks * size - len(u))))
    signal = newest_first.reshape(-1, blocks, size).astype(w.dtype)
    within = jnp.einsum("har,hnr->hna", signal, fine, precision=_PRECISION)
    return jnp.sum(coarse * within, axis=-1)


def _powers(
    w: Complex[Array, "width modes"], length: int
) -> tuple[Complex[Array, "width modes blocks"], Complex[Array, "width modes size"]]:
    """e^{aMw} and e^{rw}, whose products are e^{lw} for l < length."""
    size = math.isqrt(max(length - 1, 0)) + 1
    blocks = -(-length // size)
    coarse, fine = (jnp.arange(n).astype(w.dtype)[None, None] for n in (blocks, size))
    return jnp.exp(w[..., None] * (size * coarse)), jnp.exp(w[..., None] * fine)
