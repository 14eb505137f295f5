"""The gated residual block: norm, sequence mixer, gate (§4.5 of the paper)."""

from typing import Any, Protocol, SupportsIndex, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_probability
from .._engine.inputs import check_key, check_padding, check_sharded_call
from .._options import GATES
from ._linear import dense, linear
from ._norms import BATCH_AXIS, NORMS, BatchNorm, LayerNorm, Statistics


@runtime_checkable
class Mixer(Protocol):
    """Protocol of sequence mixers, such as `FractalSSM`, for use in a block."""

    @property
    def bidirectional(self) -> bool:
        """Whether an output depends on later inputs. Such a mixer has no `step`."""
        ...

    def __call__(self, u, state=None, dt=None, lengths=None, mask=None) -> tuple[Array, Any]:
        """Map a sequence (time, width) to the outputs (time, width) and the final state."""
        ...

    def step(self, u, state, dt=None) -> tuple[Array, Any]:
        """Map a sample (width,) and a state to the output (width,) and the next state."""
        ...

    def initial_state(self) -> Any:
        """The state before the first step, a pytree of arrays."""
        ...


@runtime_checkable
class Residual(Protocol):
    """Protocol of residual blocks, such as `Block`, for use in a `SequenceModel`."""

    @property
    def mixer(self) -> Mixer:
        """The mixer; defines the initial state and whether the block is causal."""
        ...

    def __call__(self, x, state=None, dt=None, lengths=None, mask=None) -> tuple[Array, Any]:
        """Outputs at inference, and the state of the mixer after the last step."""
        ...

    def training(self, x, dt=None, lengths=None, mask=None, axes=(), *, key) -> tuple[Array, Any]:
        """Outputs during training, and updated running averages (None without batch norm).

        A block that returns averages also has `with_statistics`.
        """
        ...

    def step(self, x, state, dt=None) -> tuple[Array, Any]:
        """Output for one sample (width,), and the next state of the mixer."""
        ...


@runtime_checkable
class WithStatistics(Protocol):
    """Protocol of blocks with running averages."""

    def with_statistics(self, statistics) -> Any:
        """A copy of the block with the running averages returned by `training`."""
        ...


class Block(eqx.Module):
    """x + gate(mixer(norm(x))), for one sequence.

    For z = norm(x), y = mixer(z) and y′ = gelu(y), the gates are

    - `"silu"`: (W₁ y + b₁) ⊙ silu(W₂ z + b₂), as in the FRACTAL paper;
    - `"half_glu1"`: y′ ⊙ σ(W₂ y′ + b₂), as in S5;
    - `"half_glu2"`: y ⊙ σ(W₂ y′ + b₂);
    - `"full_glu"`: (W₁ y′ + b₁) ⊙ σ(W₂ y′ + b₂).

    >>> import jax
    >>> from fractal.nn import Block, FractalSSM
    >>> block = Block(FractalSSM(8, key=jax.random.key(0)), width=8, key=jax.random.key(1))
    >>> y, state = block(jax.numpy.ones((50, 8)))
    >>> y.shape
    (50, 8)
    """

    norm: LayerNorm | BatchNorm
    mixer: Mixer
    outer: eqx.nn.Linear | None
    inner: eqx.nn.Linear
    gate: str = eqx.field(static=True)
    dropout: float = eqx.field(static=True)

    def __init__(
        self,
        mixer: Mixer,
        width: SupportsIndex,
        *,
        gate: str = "silu",
        norm: str = "layer",
        dropout: float = 0.0,
        norm_momentum: float | None = None,
        dense_init: str = "uniform",
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `mixer`: a sequence mixer, such as `FractalSSM` (see `Mixer`).
        - `width`: number of channels.
        - `gate`: `"silu"`, `"half_glu1"`, `"half_glu2"` or `"full_glu"`.
        - `norm`: `"layer"` or `"batch"`.
        - `dropout`: probability of dropping a channel, at all steps of a sequence, during training.
        - `norm_momentum`: decay of the running averages of `norm="batch"`; 0.95 by default.
        - `dense_init`: initialization of the gate's weights: `"uniform"` in ±1/√width, biases too;
          or `"lecun"`, normal with variance 1/width and biases 0, as in S5.
        """
        if not isinstance(mixer, Mixer):
            raise ValueError(
                "mixer must have __call__, step, initial_state and bidirectional, as FractalSSM "
                f"has, got {type(mixer).__name__}"
            )
        check_choice("gate", gate, GATES)
        check_choice("norm", norm, tuple(NORMS))
        width = check_count("width", width, smallest=1)
        keys = jax.random.split(check_key(key))
        if norm_momentum is not None and norm != "batch":
            raise ValueError(f"norm_momentum is for norm='batch', got norm={norm!r}")
        momentum = {} if norm_momentum is None else {"momentum": norm_momentum}
        self.mixer, self.norm = mixer, NORMS[norm](width, **momentum)
        has_outer = gate in ("silu", "full_glu")
        self.outer = linear(width, width, dense_init, key=keys[0]) if has_outer else None
        self.inner = linear(width, width, dense_init, key=keys[1])
        self.gate, self.dropout = gate, check_probability("dropout", dropout)

    def __check_init__(self):
        check_choice("gate", self.gate, GATES)
        check_probability("dropout", self.dropout)
        if (self.outer is None) != (self.gate in ("half_glu1", "half_glu2")):
            raise ValueError(f"outer is inconsistent with gate={self.gate!r}")

    def __call__(
        self,
        x: Float[Array, "time width"],
        state: Any = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        axis_name: str | None = None,
    ) -> tuple[Float[Array, "time width"], Any]:
        """Outputs, and the state of the mixer after the last step. Arguments: see the mixer."""
        z, sharded = self.norm(x), sharding_of(self.mixer, axis_name)
        y, state = self.mixer(z, state, dt=dt, lengths=lengths, mask=mask, **sharded)
        return x + self._apply_gate(y, z, None), state

    def training(
        self,
        x: Float[Array, "time width"],
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        axes: tuple[str, ...] = (BATCH_AXIS,),
        *,
        key: PRNGKeyArray,
        axis_name: str | None = None,
    ) -> tuple[Float[Array, "time width"], Statistics | None]:
        """Outputs with dropout and batch statistics, and the updated running averages.

        `axes` are the names of the vmapped axes over which the statistics are computed, in
        addition to `axis_name`, the mesh axis over which time is sharded.
        """
        sharded = sharding_of(self.mixer, axis_name)
        if isinstance(self.norm, BatchNorm):
            kept = check_padding(lengths, mask, len(x), axis_name).kept
            axes = axes if axis_name is None else (*axes, axis_name)
            z, statistics = self.norm.training(x, kept, axes)
        else:
            z, statistics = self.norm(x), None
        y, _ = self.mixer(z, None, dt=dt, lengths=lengths, mask=mask, **sharded)
        return x + self._apply_gate(y, z, key), statistics

    def with_statistics(self, statistics: Statistics) -> "Block":
        """A copy of the block with the running averages returned by `training`."""
        if not isinstance(self.norm, BatchNorm):
            raise ValueError("statistics are for norm='batch'")
        norm = eqx.tree_at(lambda norm: norm.running, self.norm, statistics)
        return eqx.tree_at(lambda block: block.norm, self, norm)

    def step(
        self, x: Float[Array, " width"], state: Any, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Any]:
        """Output for one sample (width,), and the next state of the mixer."""
        z = self.norm(x)
        y, state = self.mixer.step(z, state, dt)
        return x + self._apply_gate(y, z, None), state

    def _apply_gate(self, y: Array, z: Array, key: PRNGKeyArray | None) -> Array:
        early, late = (None, None) if key is None else jax.random.split(key)
        if self.outer is not None and self.gate == "silu":
            out = dense(self.outer, y) * jax.nn.silu(dense(self.inner, z))
            return self._apply_dropout(out, late)
        active = self._apply_dropout(jax.nn.gelu(y), early)
        gate = jax.nn.sigmoid(dense(self.inner, active))
        if self.outer is not None:
            return self._apply_dropout(dense(self.outer, active) * gate, late)
        return self._apply_dropout((active if self.gate == "half_glu1" else y) * gate, late)

    def _apply_dropout(self, x: Array, key: PRNGKeyArray | None) -> Array:
        """Drop channels, the same ones at all steps."""
        if key is None or self.dropout == 0:
            return x
        keep = jax.random.bernoulli(key, 1 - self.dropout, x.shape[-1:])
        keep = jax.lax.broadcast_to_rank(keep, x.ndim)
        return jnp.where(keep, x / (1 - self.dropout), 0.0).astype(x.dtype)


def sharding_of(
    module: Mixer | Residual, axis_name: str | None, method: str = "__call__"
) -> dict[str, str]:
    """The keyword argument of a sharded call; none otherwise, since modules need not have it."""
    if axis_name is None:
        return {}
    check_sharded_call(module, getattr(type(module), method), axis_name)
    return {"axis_name": axis_name}
