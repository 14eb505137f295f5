"""A model compiled for one stream: per sample, a call costs little more than its arithmetic.

Three costs of `jax.jit(SequenceModel.step)` are avoided. The weights are constants of the compiled
program: they are not passed in each call, and what depends on them alone is computed once, by the
compiler. The state is packed into one array per dtype, so that a call passes few arrays. And these
arrays are donated: the new state is written over the old one.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from .._engine.inputs import check_array, check_concrete, check_tokens
from ._model import ModelState, SequenceModel


class Streaming:
    """A causal `SequenceModel`, compiled, with the state of one stream.

    `step` and `extend` compute what those of the model compute, and update `state`.

    >>> import jax
    >>> from fractal.nn import SequenceModel, Streaming
    >>> model = SequenceModel(3, 2, tokens=False, width=8, depth=1, key=jax.random.key(0))
    >>> stream = Streaming(model)
    >>> stream.step([0.1, 0.2, 0.3]).shape
    (2,)
    >>> stream.extend(jax.numpy.ones((100, 3))).shape
    (100, 2)
    >>> stream.state.steps.tolist()
    [101, 0]
    """

    def __init__(self, model: SequenceModel):
        """
        **Arguments:**

        - `model`: the model. Its weights are copied into the compiled program.
        """
        if not isinstance(model, SequenceModel):
            raise ValueError(f"model must be a SequenceModel, got {type(model).__name__}")
        state = model.initial_state()
        encoder = model.encoder
        self._vocabulary = len(encoder.weight) if isinstance(encoder, eqx.nn.Embedding) else None
        self._layout = _Layout(state)
        self.state = state
        self._step = self._compiled(model.step)
        self._extend = self._compiled(model.extend)
        sample = jnp.zeros((), int) if self._vocabulary else jnp.zeros(encoder.weight.shape[1])
        if not self._layout.fits(jax.eval_shape(model.step, sample, state)[1]):
            raise ValueError("model must have mixers whose state does not grow; use model.step")

    @property
    def state(self) -> ModelState:
        """The state of the stream; assign a state of the model to resume from it."""
        # A copy: the arrays of this object are overwritten by the next call.
        return jax.tree.map(jnp.copy, self._layout.unpack(self._packed))

    @state.setter
    def state(self, state: ModelState) -> None:
        if not self._layout.fits(state):
            raise ValueError("state must be one that this model returned, or initial_state()")
        self._packed = jax.tree.map(jnp.copy, self._layout.pack(state))

    def step(self, x: ArrayLike, dt: ArrayLike | None = None) -> Float[Array, " outputs"]:
        """The output after one more token or sample x.

        **Arguments:**

        - `x`: a token id, or values (inputs,).
        - `dt`: duration of the sample; 1 by default.
        """
        x = self._checked("x", x, dt)
        output, self._packed = self._step(x, self._packed, dt)
        return output

    def extend(self, block: ArrayLike, dt: ArrayLike | None = None) -> Float[Array, "time outputs"]:
        """The outputs after each step of a block. Each new length of a block is compiled.

        **Arguments:**

        - `block`: token ids (time,) or values (time, inputs).
        - `dt`: durations of the samples: a scalar, or one per step; 1 by default.
        """
        block = self._checked("block", block, dt)
        outputs, self._packed = self._extend(block, self._packed, dt)
        return outputs

    def _checked(self, name: str, x: ArrayLike, dt: ArrayLike | None) -> Array | np.ndarray:
        # Shapes are checked when a call is compiled, values here.
        array = x if isinstance(x, np.ndarray) and x.dtype.kind in "iuf" else check_array(name, x)
        if self._vocabulary is not None and array.dtype.kind in "iu":
            check_tokens(array, self._vocabulary, name)
        if dt is not None:
            check_concrete(dt)
        return array

    def _compiled(self, call: Any) -> Any:
        def run(x, packed, dt):
            outputs, state = call(x, self._layout.unpack(packed), dt)
            return outputs, self._layout.pack(state)

        return jax.jit(run, donate_argnums=1)


class _Layout:
    """How the leaves of a state lie in one vector per dtype; complex ones as pairs of vectors."""

    def __init__(self, state: ModelState):
        leaves, self._tree = jax.tree.flatten(state)
        self._leaves = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        self._kinds = sorted({_real(leaf.dtype) for leaf in leaves}, key=str)

    def fits(self, state: Any) -> bool:
        """Whether the structure, shapes and dtypes of a state are those of the layout."""
        leaves, tree = jax.tree.flatten(state)
        if tree != self._tree:
            return False
        found = [(jnp.shape(leaf), getattr(leaf, "dtype", None)) for leaf in leaves]
        return found == [(leaf.shape, leaf.dtype) for leaf in self._leaves]

    def pack(self, state: ModelState) -> tuple[Array, ...]:
        """One vector per dtype."""
        parts: dict[Any, list[Array]] = {kind: [] for kind in self._kinds}
        for leaf in jax.tree.leaves(state):
            pair = (leaf.real, leaf.imag) if jnp.iscomplexobj(leaf) else (leaf,)
            parts[_real(leaf.dtype)] += [part.reshape(-1) for part in pair]
        return tuple(jnp.concatenate(parts[kind]) for kind in self._kinds)

    def unpack(self, packed: Sequence[Array]) -> ModelState:
        """Inverse of `pack`."""
        rest, leaves = dict(zip(self._kinds, packed, strict=True)), []
        for leaf in self._leaves:
            kind, count = _real(leaf.dtype), 2 if jnp.iscomplexobj(leaf) else 1
            taken, rest[kind] = jnp.split(rest[kind], [count * leaf.size])
            parts = [part.reshape(leaf.shape) for part in jnp.split(taken, count)]
            leaves.append(parts[0] if count == 1 else lax.complex(*parts))
        return jax.tree.unflatten(self._tree, leaves)


def _real(dtype: np.dtype) -> np.dtype:
    return np.finfo(dtype).dtype if jnp.issubdtype(dtype, jnp.complexfloating) else dtype
