"""Convolution of a sequence with kernels of its length, by FFT."""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float


def convolve(
    u: Float[Array, "time width"], kernels: Float[Array, "scans width time"]
) -> Float[Array, "time width"]:
    """Σ_j k₀[l − j] u_j over j ≤ l and, with a second kernel, Σ_j k₁[j − l − 1] u_j over j > l.

    The second kernel excludes the present step, which is part of the first.
    """
    length = len(u)
    kernel = jnp.pad(kernels[0], ((0, 0), (0, length)))
    if len(kernels) == 2:
        kernel += jnp.pad(kernels[1, :, ::-1], ((0, 0), (length, 0)))
    # Zero-padded to twice the length, which makes the circular convolution linear.
    spectrum = jnp.fft.rfft(u.T, 2 * length) * jnp.fft.rfft(kernel)
    return jnp.fft.irfft(spectrum, 2 * length)[:, :length].T


def check_scalar_dt(dt: ArrayLike | None, dtype: jnp.dtype) -> Float[Array, ""]:
    """Validate `dt` as a scalar factor of Δ: a convolution has one kernel for all steps."""
    factor = jnp.asarray(1.0 if dt is None else dt, dtype)
    if factor.ndim:
        raise ValueError(
            f"dt must be one number for a convolutional layer, got shape {factor.shape}: "
            "irregular steps need a scan, as in FractalSSM or S5"
        )
    return factor


def check_causal(scans: int) -> None:
    """Raise `ValueError` if a step or a state is requested of a bidirectional layer."""
    if scans == 2:
        raise ValueError("a bidirectional layer needs the whole sequence: it has no step or state")
