"""The gated block: norm, sequence mixer, gate, residual (the paper's §4.5)."""

from typing import Any, Literal, Protocol, SupportsIndex, get_args, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_choice, check_count, check_probability
from .._engine.inputs import check_key, check_padding
from ._norms import BATCH_AXIS, NORMS, BatchNorm, LayerNorm, Statistics

Gate = Literal["silu", "half_glu1", "half_glu2", "full_glu"]
GATES = get_args(Gate)


@runtime_checkable
class Mixer(Protocol):
    """What a block needs of a sequence mixer such as `FractalSSM`."""

    @property
    def bidirectional(self) -> bool:
        """Whether a step sees what comes after."""
        ...

    def __call__(self, u, state=None, dt=None, lengths=None, mask=None) -> tuple[Array, Any]:
        """All outputs, and the state after the last step."""
        ...

    def step(self, u, state, dt=None) -> tuple[Array, Any]:
        """One step."""
        ...

    def initial_state(self) -> Any:
        """The state before the first step."""
        ...


@runtime_checkable
class Residual(Protocol):
    """What a model needs of a block such as `Block`: its mixer, and three ways to run it."""

    @property
    def mixer(self) -> Mixer:
        """Gives the state before the first step, and says whether the block is causal."""
        ...

    def __call__(self, x, state=None, dt=None, lengths=None, mask=None) -> tuple[Array, Any]:
        """All outputs, and the mixer's state after the last step."""
        ...

    def training(self, x, dt=None, lengths=None, mask=None, axes=(), *, key) -> tuple[Array, Any]:
        """All outputs in training, and new running averages, if there are any."""
        ...

    def step(self, x, state, dt=None) -> tuple[Array, Any]:
        """One step."""
        ...


class Block(eqx.Module):
    """x + gate(mixer(norm(x))), for one sequence.

    With y the mixer's output for z = norm(x), the gates are

    - `"silu"`, the paper's: (W₁ y + b₁) ⊙ silu(W₂ z + b₂);
    - `"half_glu1"`: y′ ⊙ σ(W₂ y′ + b₂) with y′ = gelu(y), S5's;
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
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `mixer`: a `FractalSSM`, or anything with its methods.
        - `width`: number of channels.
        - `gate`: `"silu"`, `"half_glu1"`, `"half_glu2"` or `"full_glu"`.
        - `norm`: `"layer"` or `"batch"`.
        - `dropout`: probability with which a channel is left out of a sequence in training.
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
        self.mixer, self.norm = mixer, NORMS[norm](width)
        has_outer = gate in ("silu", "full_glu")
        self.outer = eqx.nn.Linear(width, width, key=keys[0]) if has_outer else None
        self.inner = eqx.nn.Linear(width, width, key=keys[1])
        self.gate, self.dropout = gate, check_probability("dropout", dropout)

    def __check_init__(self):
        check_choice("gate", self.gate, GATES)
        check_probability("dropout", self.dropout)
        if (self.outer is None) != (self.gate in ("half_glu1", "half_glu2")):
            raise ValueError(f"outer does not fit gate={self.gate!r}")

    def __call__(
        self,
        x: Float[Array, "time width"],
        state: Any = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Any]:
        """All outputs, and the mixer's state after the last step; arguments as for the mixer."""
        z = self.norm(x)
        y, state = self.mixer(z, state, dt=dt, lengths=lengths, mask=mask)
        return x + self._gated(y, z, None), state

    def training(
        self,
        x: Float[Array, "time width"],
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        axes: tuple[str, ...] = (BATCH_AXIS,),
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, "time width"], Statistics | None]:
        """All outputs with dropout and batch statistics, and the running averages that follow.

        `axes` names the vmapped axes that the statistics are taken over.
        """
        if isinstance(self.norm, BatchNorm):
            z, statistics = self.norm.training(x, check_padding(lengths, mask, len(x)).kept, axes)
        else:
            z, statistics = self.norm(x), None
        y, _ = self.mixer(z, None, dt=dt, lengths=lengths, mask=mask)
        return x + self._gated(y, z, key), statistics

    def step(
        self, x: Float[Array, " width"], state: Any, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Any]:
        """One step."""
        z = self.norm(x)
        y, state = self.mixer.step(z, state, dt)
        return x + self._gated(y, z, None), state

    def _gated(self, y: Array, z: Array, key: PRNGKeyArray | None) -> Array:
        early, late = (None, None) if key is None else jax.random.split(key)
        if self.outer is not None and self.gate == "silu":
            out = dense(self.outer, y) * jax.nn.silu(dense(self.inner, z))
            return self._dropped(out, late)
        active = self._dropped(jax.nn.gelu(y), early)
        gate = jax.nn.sigmoid(dense(self.inner, active))
        if self.outer is not None:
            return self._dropped(dense(self.outer, active) * gate, late)
        return self._dropped((active if self.gate == "half_glu1" else y) * gate, late)

    def _dropped(self, x: Array, key: PRNGKeyArray | None) -> Array:
        """Channels left out, the same ones at all steps."""
        if key is None or self.dropout == 0:
            return x
        keep = jax.random.bernoulli(key, 1 - self.dropout, x.shape[-1:])
        return jnp.where(keep, x / (1 - self.dropout), 0.0).astype(x.dtype)


def dense(linear: eqx.nn.Linear, x: Float[Array, "*time width"]) -> Float[Array, "*time out"]:
    """A linear map of the last axis, in the precision of x."""
    weight, bias = linear.weight.astype(x.dtype), linear.bias
    y = x @ weight.T
    return y if bias is None else y + bias.astype(x.dtype)
