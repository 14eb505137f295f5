"""A model compiled for one stream: per sample, a call costs little more than its arithmetic.

Three costs of `jax.jit(SequenceModel.step)` are avoided. The weights are constants of the compiled
program: they are not passed in each call, and what depends on them alone is computed once, by the
compiler. The state is packed into a few vectors, since each array that is passed takes time. And
these are donated: the new state is written over the old one.
"""

import functools
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
from .._engine.pair import complex_to_real
from ._model import SequenceModel
from ._model_state import ModelState

_SMALL = 8  # elements of a leaf such as time


class Streaming:
    """A causal `SequenceModel`, compiled, with the state of one stream.

    `step` and `extend` compute what those of the model compute, and update `state`.

    >>> import jax
    >>> from fractal.nn import SequenceModel, Streaming
    >>> model = SequenceModel(3, 2, tokens=False, width=8, depth=1, key=jax.random.key(0))
    >>> stream = Streaming(model)
    >>> stream.step(jax.numpy.ones(3)).shape
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
        self._vocabulary = None if isinstance(encoder, eqx.nn.Linear) else len(encoder.weight)
        self._layout = _Layout(state)
        self._step = self._compiled(model.step)
        self._extend = self._compiled(model.extend)
        sample = jnp.zeros((), int) if self._vocabulary else jnp.zeros(encoder.weight.shape[1])
        if not self._layout.fits(jax.eval_shape(model.step, sample, state)[1]):
            raise ValueError("model must have mixers whose state does not grow; use model.step")
        self.state = state

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
        x, dt = self._checked("x", x, dt)
        output, self._packed = self._step(x, self._packed, dt)
        return output

    def extend(self, block: ArrayLike, dt: ArrayLike | None = None) -> Float[Array, "time outputs"]:
        """The outputs after each step of a block. Each new length of a block is compiled.

        **Arguments:**

        - `block`: token ids (time,) or values (time, inputs).
        - `dt`: durations of the samples: a scalar, or one per step; 1 by default.
        """
        block, dt = self._checked("block", block, dt)
        outputs, self._packed = self._extend(block, self._packed, dt)
        return outputs

    def _checked(
        self, name: str, x: ArrayLike, dt: ArrayLike | None
    ) -> tuple[Array | np.ndarray, Array | None]:
        # Shapes are checked when a call is compiled, values here.
        array = x if isinstance(x, np.ndarray) and x.dtype.kind in "iuf" else check_array(name, x)
        if self._vocabulary is not None and array.dtype.kind in "iu":
            check_tokens(array, self._vocabulary, name)
        if dt is None:
            return array, None
        check_concrete(dt)
        return array, check_array("dt", dt)

    def _compiled(self, call: Any) -> Any:
        def run(x, packed, dt):
            outputs, state = call(x, self._layout.unpack(packed), dt)
            return outputs, self._layout.pack(state)

        return jax.jit(run, donate_argnums=1)


class _Layout:
    """How the leaves of a state lie in vectors: one per dtype, and one for the smallest leaves."""

    def __init__(self, state: ModelState):
        leaves, self._tree = jax.tree.flatten(state)
        self._leaves = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        self._groups: dict[tuple[str, bool], list[int]] = {}
        for i, leaf in enumerate(self._leaves):
            small = leaf.size <= _SMALL and jnp.issubdtype(leaf.dtype, jnp.floating)
            self._groups.setdefault((_real(leaf.dtype).name, small), []).append(i)

    def fits(self, state: Any) -> bool:
        """Whether the structure, shapes and dtypes of a state are those of the layout."""
        leaves, tree = jax.tree.flatten(state)
        if tree != self._tree:
            return False
        found = [(jnp.shape(leaf), getattr(leaf, "dtype", None)) for leaf in leaves]
        return found == [(leaf.shape, leaf.dtype) for leaf in self._leaves]

    def pack(self, state: ModelState) -> tuple[Array, ...]:
        """The vectors."""
        leaves = jax.tree.leaves(state)
        return tuple(
            (_join_small if small else jnp.concatenate)([_flat(leaves[i]) for i in members])
            for (_, small), members in self._groups.items()
        )

    def unpack(self, packed: Sequence[Array]) -> ModelState:
        """Inverse of `pack`."""
        leaves: dict[int, Array] = {}
        for vector, members in zip(packed, self._groups.values(), strict=True):
            start = 0
            for i in members:
                leaf = self._leaves[i]
                parts = 2 if jnp.iscomplexobj(leaf) else 1
                end = start + parts * leaf.size
                taken = jnp.split(lax.slice(vector, (start,), (end,)), parts)
                shaped = [part.reshape(leaf.shape) for part in taken]
                leaves[i], start = shaped[0] if parts == 1 else lax.complex(*shaped), end
        return jax.tree.unflatten(self._tree, [leaves[i] for i in range(len(leaves))])


def _flat(leaf: Array) -> Array:
    return (complex_to_real(leaf) if jnp.iscomplexobj(leaf) else leaf).reshape(-1)


def _join_small(parts: list[Array]) -> Array:
    """Concatenation as a sum of padded parts, which XLA computes in one loop.

    It would compute each operand of a concatenation in a task of its own. On CPUs many independent
    tasks are distributed over threads, which takes longer than the whole step.
    """
    sizes = [len(part) for part in parts]
    ends = np.cumsum(sizes).tolist()
    zero = np.zeros((), parts[0].dtype)
    padded = [
        lax.pad(part, zero, [(end - size, ends[-1] - end, 0)])
        for part, size, end in zip(parts, sizes, ends, strict=True)
    ]
    return functools.reduce(lax.add, padded)


def _real(dtype: np.dtype) -> np.dtype:
    return np.finfo(dtype).dtype if jnp.issubdtype(dtype, jnp.complexfloating) else dtype
