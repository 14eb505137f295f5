"""Diagonal plus low-rank systems, A = Λ − P P*, with the bilinear rule: steps, powers, kernels.

One mode of each conjugate pair is stored: P* x is 2 Re Σ P̄ₙ xₙ, and A is linear over the reals.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from .._engine.pair import complex_to_real, real_to_complex

_FREQUENCY_BATCH = 64  # frequencies per batch: bounds temporaries to (width, order, 64)


class LowRank(NamedTuple):
    """Λ, P, B and the step size Δ per channel."""

    Lambda: Complex[Array, "width modes"]
    P: Complex[Array, "width modes"]
    B: Complex[Array, "width modes"]
    dt: Float[Array, "width 1"]

    def step(
        self, x: Complex[Array, "width modes"], u: Float[Array, " width"]
    ) -> Complex[Array, "width modes"]:
        """(I − ΔA/2)⁻¹ [(I + ΔA/2) x + ΔB u], by the Woodbury identity."""
        dtype, half = x.dtype, self.dt / 2
        Ax = self.Lambda * x - self.P * self._inner_P(x).astype(dtype)
        added = self.dt.astype(dtype) * self.B * u.astype(dtype)[:, None]
        right = x + half.astype(dtype) * Ax + added
        diagonal = 1 - half.astype(dtype) * self.Lambda
        solved, rank = right / diagonal, self.P / diagonal
        weight = half * self._inner_P(solved) / (1 + half * self._inner_P(rank))
        return solved - rank * weight.astype(dtype)

    @functools.partial(jax.jit, static_argnames="length")
    def truncated(
        self, C: Complex[Array, "scans width modes"], length: int
    ) -> Complex[Array, "scans width modes"]:
        """C̃ = C (I − Āᴸ) for L = length."""
        return _from_row(_row(C) - jnp.einsum("shi,hij->shj", _row(C), self._power(length)))

    @functools.partial(jax.jit, static_argnames="length")
    def recovered(
        self, C: Complex[Array, "scans width modes"], length: int
    ) -> Complex[Array, "scans width modes"]:
        """Inverse of `truncated`: C from C̃."""
        power = self._power(length)
        system = jnp.swapaxes(jnp.eye(power.shape[-1], dtype=power.dtype)[None] - power, 1, 2)
        rows = jnp.linalg.solve(system, jnp.moveaxis(_row(C), 0, -1))
        return _from_row(jnp.moveaxis(rows, -1, 0))

    def _inner_P(self, x: Complex[Array, "width modes"]) -> Float[Array, "width 1"]:
        """P* x."""
        return 2 * jnp.sum(self.P.conj() * x, axis=-1, keepdims=True).real

    def _power(self, exponent: int) -> Float[Array, "width order order"]:
        """A power of Ā by repeated squaring, acting on concatenated real and imaginary parts."""
        width, modes = self.Lambda.shape
        zero = jnp.zeros(width, self.dt.dtype)

        def column(unit):
            start = jnp.broadcast_to(real_to_complex(unit), (width, modes))
            return complex_to_real(self.step(start, zero))

        square = jax.vmap(column, out_axes=-1)(jnp.eye(2 * modes, dtype=self.dt.dtype))
        power = jnp.eye(2 * modes, dtype=self.dt.dtype)
        for bit in reversed(f"{exponent:b}"):
            power = power @ square if bit == "1" else power
            square = square @ square
        return power


def _row(C: Complex[Array, "*scans width modes"]) -> Float[Array, "..."]:
    """The real row vector c with Re(C x) = c · (Re x, Im x)."""
    return complex_to_real(C.conj())


def _from_row(row: Float[Array, "..."]) -> Complex[Array, "..."]:
    """Inverse of `_row`."""
    return real_to_complex(row).conj()


def dplr_kernels(
    system: LowRank, C: Complex[Array, "scans width modes"], length: int
) -> Float[Array, "scans width {length}"]:
    """K_l = 2 Re(C Āˡ B̄) for l < length, from C̃ = C (I − Āᴸ).

    The transform of K at ω = e^{−iθ} is C̃ (I − ωĀ)⁻¹ B̄ = C̃ [(1−ω) I − (1+ω) ΔA/2]⁻¹ ΔB. With the
    half angle, 1 − ω = 2i s e^{−iθ/2} and 1 + ω = 2c e^{−iθ/2}, and with sums over pairs
    r_ab = Σ Δ a b/(2is − cΔλ) Woodbury gives e^{iθ/2} [r_CB − c r_CP r_PB/(1 + c r_PP)]. The usual
    form divides by 1 + ω; this one has no pole at ω = −1, where c = 0 and r_CB = Δ C̃B/2i.
    """
    scans = len(C)
    conjugates = [jnp.concatenate([x, x.conj()], axis=-1) for x in (system.P, system.B, C)]
    P, B, C = conjugates
    dt = system.dt.astype(C.dtype)
    Lambda = dt * jnp.concatenate([system.Lambda, system.Lambda.conj()], axis=-1)
    star = P.conj()
    products = [*(C * B[None]), *(C * P[None]), star * B, star * P]
    products = jnp.stack(products, axis=1) * dt[..., None]

    @jax.checkpoint  # otherwise arrays of size (width, order, length) are stored for gradients
    def transform(s, c):  # 2is and c, as complex numbers
        fractions = 1 / (s - c * Lambda)
        sums = jnp.einsum("hpn,hn->ph", products, fractions)
        r_CB, r_CP, r_PB, r_PP = sums[:scans], sums[scans:-2], sums[-2], sums[-1]
        return r_CB - c * r_CP * r_PB[None] / (1 + c * r_PP)[None]

    half_angles = np.pi * np.arange(length // 2 + 1) / length
    sines, cosines, phase = (
        jnp.asarray(x, C.dtype)
        for x in (2j * np.sin(half_angles), np.cos(half_angles), np.exp(1j * half_angles))
    )
    spectrum = jax.lax.map(lambda x: transform(*x), (sines, cosines), batch_size=_FREQUENCY_BATCH)
    return jnp.fft.irfft(jnp.moveaxis(phase[:, None, None] * spectrum, 0, -1), length)
