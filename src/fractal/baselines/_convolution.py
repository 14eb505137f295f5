"""Convolution of a sequence with long kernels, by the fast Fourier transform."""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float


def convolve(
    u: Float[Array, "time width"], kernels: Float[Array, "scans width time"]
) -> Float[Array, "time width"]:
    """Σ_j k₀[l − j] u_j over j ≤ l and, with a second kernel, Σ_j k₁[j − l − 1] u_j over j > l.

    The second kernel begins one step after the present, which the first one has already read.
    """
    length = len(u)
    kernel = jnp.pad(kernels[0], ((0, 0), (0, length)))
    if len(kernels) == 2:
        kernel += jnp.pad(kernels[1, :, ::-1], ((0, 0), (length, 0)))
    # Twice the length, so that the circle of the transform does not close on the sequence.
    spectrum = jnp.fft.rfft(u.T, 2 * length) * jnp.fft.rfft(kernel)
    return jnp.fft.irfft(spectrum, 2 * length)[:, :length].T


def check_rescale(dt: ArrayLike | None, dtype: jnp.dtype) -> Float[Array, ""]:
    """One factor of the time step for all samples: a convolution has one kernel."""
    factor = jnp.asarray(1.0 if dt is None else dt, dtype)
    if factor.ndim:
        raise ValueError(
            f"dt must be one number for a convolution, got shape {factor.shape}: "
            "irregular steps need a scan, as in FractalSSM or S5"
        )
    return factor


def check_causal(scans: int) -> None:
    """A step, or a state to go on from, is for layers that do not read the future."""
    if scans == 2:
        raise ValueError("a bidirectional layer needs the whole sequence: it has no step or state")
