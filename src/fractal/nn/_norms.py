"""Layer normalization, and batch normalization over batch and time."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from .._checks import check_count, check_probability
from ._roles import role

BATCH_AXIS = "batch"  # name of the vmapped axis over which batch statistics are computed
_EPSILON = 1e-5


class Statistics(NamedTuple):
    """Mean and variance per channel."""

    mean: Float[Array, " width"]
    variance: Float[Array, " width"]


class LayerNorm(eqx.Module):
    """Layer normalization: each step is normalized over its channels."""

    weight: Float[Array, " width"]
    bias: Float[Array, " width"]

    def __init__(self, width: int):
        width = check_count("width", width, smallest=1)
        self.weight, self.bias = jnp.ones(width), jnp.zeros(width)

    def __call__(self, x: Float[Array, "*time width"]) -> Float[Array, "*time width"]:
        """Normalize a sequence (time, width) or a step (width,)."""
        wide = x.astype(self.weight.dtype)
        centered = wide - wide.mean(axis=-1, keepdims=True)
        variance = jnp.mean(centered**2, axis=-1, keepdims=True)
        return _affine(self, centered * lax.rsqrt(variance + _EPSILON)).astype(x.dtype)


class BatchNorm(eqx.Module):
    """Batch normalization: each channel is normalized over batch and time, excluding padding.

    Training uses the statistics of the batch, which must be vmapped with `axis_name="batch"`.
    Inference uses running averages, updated by `SequenceModel.with_statistics`.
    """

    weight: Float[Array, " width"]
    bias: Float[Array, " width"]
    running: Statistics = eqx.field(metadata=role("buffer"))
    momentum: float = eqx.field(static=True)

    def __init__(self, width: int, *, momentum: float = 0.95):
        width = check_count("width", width, smallest=1)
        self.weight, self.bias = jnp.ones(width), jnp.zeros(width)
        self.running = Statistics(jnp.zeros(width), jnp.ones(width))
        self.momentum = momentum

    def __check_init__(self):
        check_probability("momentum", self.momentum)

    def __call__(self, x: Float[Array, "*time width"]) -> Float[Array, "*time width"]:
        """Normalize a sequence (time, width) or a step (width,) by the running averages."""
        return self._normalize(x, lax.stop_gradient(self.running))

    def training(
        self,
        x: Float[Array, "time width"],
        mask: Bool[Array, " time"] | None,
        axes: tuple[str, ...] = (BATCH_AXIS,),
    ) -> tuple[Float[Array, "time width"], Statistics]:
        """Normalize a sequence by batch statistics; also returns the updated running averages."""
        wide = x.astype(self.weight.dtype)
        counted = jnp.ones((len(x), 1), bool) if mask is None else mask[:, None]
        sums = _sum_over(axes, wide.sum(axis=0, where=counted))
        count = jnp.maximum(lax.psum(counted.sum(), axes), 1).astype(wide.dtype)
        mean = sums / count
        variance = lax.psum(((wide - mean[None]) ** 2).sum(axis=0, where=counted), axes) / count
        now = lax.stop_gradient(Statistics(mean, variance))
        running = Statistics(
            *(
                self.momentum * old + (1 - self.momentum) * new
                for old, new in zip(lax.stop_gradient(self.running), now, strict=True)
            )
        )
        return self._normalize(x, Statistics(mean, variance)), running

    def _normalize(self, x: Array, by: Statistics) -> Array:
        mean, variance = (lax.broadcast_to_rank(statistic, x.ndim) for statistic in by)
        scaled = (x.astype(self.weight.dtype) - mean) * lax.rsqrt(variance + _EPSILON)
        return _affine(self, scaled).astype(x.dtype)


def _sum_over(axes: tuple[str, ...], x: Array) -> Array:
    try:
        return lax.psum(x, axes)
    except ValueError as error:
        if "varying" not in str(error):
            raise
        # JAX cannot sum over vmapped and mesh axes while it tracks varying values.
        raise ValueError(
            "norm='batch' with axis_name needs jax.shard_map(…, check_vma=False)"
        ) from error


def _affine(norm: LayerNorm | BatchNorm, x: Array) -> Array:
    weight, bias = (lax.broadcast_to_rank(p, x.ndim) for p in (norm.weight, norm.bias))
    return weight * x + bias


NORMS: dict[str, type[LayerNorm] | type[BatchNorm]] = {"layer": LayerNorm, "batch": BatchNorm}
