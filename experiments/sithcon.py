"""SITHCon (Jacques et al., 2022), from its formulas: a memory of log-spaced ages, and convolutions.

The memory holds f̃(t, τ) = ∫ Φ(s/τ)/τ f(t − s) ds for time constants τ in geometric progression,
Φ(x) = k^(k+1)/k! x^k e^(−kx). A change of speed shifts it along log τ. A convolution over log τ,
followed by the maximum over all shifts, hardly depends on the speed then, as long as no feature
crosses an end of the range of τ.
"""

import functools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Array, Float, Int, PRNGKeyArray


@functools.lru_cache(maxsize=32)
def kernels(taus: tuple[float, ...], k: int, length: int) -> Float[np.ndarray, "taus length"]:
    """Weights of the sample of each age, held for one step: integrals of Φ(s/τ)/τ over a step."""
    ages = np.arange(length + 1) / np.array(taus)[:, None]
    return np.diff(scipy.special.gammainc(k + 1, k * ages)).astype(np.float32)


class Layer(eqx.Module):
    """Memory of all channels, convolution over log τ without bias, maximum over shifts, ReLU."""

    weight: Float[Array, "channels inputs taps"]
    taus: tuple[float, ...] = eqx.field(static=True)
    k: int = eqx.field(static=True)

    def __init__(
        self, inputs: int, channels: int, taps: int, taus: Sequence[float], k: int,
        *, key: PRNGKeyArray,
    ):  # fmt: skip
        scale = np.sqrt(2 / (inputs * taps))
        self.weight = scale * jax.random.normal(key, (channels, inputs, taps))
        self.taus, self.k = tuple(taus), k

    def memory(self, u: Float[Array, "time inputs"]) -> Float[Array, "time inputs taus"]:
        """f̃ at every step, by the fast Fourier transform."""
        length = len(u)
        size = 1 << (2 * length - 1).bit_length()
        seen = jnp.fft.rfft(u, size, axis=0)[:, :, None]
        filters = jnp.fft.rfft(jnp.asarray(kernels(self.taus, self.k, length)), size).T
        return jnp.fft.irfft(seen * filters[:, None], size, axis=0)[:length]

    def last_memory(
        self, u: Float[Array, "time inputs"], length: Int[Array, ""]
    ) -> Float[Array, "inputs taus"]:
        """f̃ at step `length` only; later steps are padding."""
        age = length - 1 - jnp.arange(len(u))
        weights = jnp.asarray(kernels(self.taus, self.k, len(u)))[:, jnp.maximum(age, 0)]
        return u.T @ jnp.where(age >= 0, weights, 0.0).T

    def features(self, memory: Float[Array, "*steps inputs taus"]) -> Float[Array, "*steps out"]:
        """The largest response of each filter along log τ."""
        *steps, inputs, taus = memory.shape
        rows = memory.reshape(-1, inputs, taus)
        found = jax.lax.conv_general_dilated(rows, self.weight, (1,), "VALID")
        return jax.nn.relu(found.max(axis=-1)).reshape(*steps, len(self.weight))


class SITHCon(eqx.Module):
    """Layers, each followed by a linear map, and a readout of the last step."""

    layers: tuple[Layer, ...]
    maps: tuple[eqx.nn.Linear, ...]
    head: eqx.nn.Linear

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        channels: int = 35,
        depth: int = 2,
        taps: int = 23,
        tau_min: float = 0.1,
        tau_max: float = 4000.0,
        count: int = 200,
        k: int = 35,
        key: PRNGKeyArray,
    ):
        """The defaults are those of the authors for Morse code, with every second τ."""
        keys = jax.random.split(key, 2 * depth + 1)
        taus = np.geomspace(tau_min, tau_max, count)
        widths = [inputs, *[channels] * depth]
        self.layers = tuple(
            Layer(widths[i], channels, taps, taus.tolist(), k, key=keys[2 * i])
            for i in range(depth)
        )
        self.maps = tuple(
            eqx.nn.Linear(channels, channels, key=keys[2 * i + 1]) for i in range(depth)
        )
        self.head = eqx.nn.Linear(channels, outputs, key=keys[-1])

    def __call__(
        self, u: Float[Array, "time inputs"], lengths: Int[Array, ""]
    ) -> Float[Array, " outputs"]:
        """Logits at the last step, which is the only one that the last layer computes."""
        *inner, (last, onto) = zip(self.layers, self.maps, strict=True)
        for layer, linear in inner:
            u = jax.vmap(linear)(layer.features(layer.memory(u)))
        return self.head(onto(last.features(last.last_memory(u, lengths))))
