"""The functions of a model that `jax.export` serializes, without types of this library."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.export
import jax.numpy as jnp

from ..nn import RetrievalHead, SequenceModel
from ._arguments import follows_path, whole_only


def has_step(model: SequenceModel) -> bool:
    """Whether the model has a step, with a state that is zero at first and does not grow."""
    if whole_only(model):
        return False
    state = model.initial_state()
    if any(bool(jnp.any(leaf.astype(bool))) for leaf in jax.tree.leaves(state)):
        return False
    after = jax.eval_shape(model.step, _sample(model, ()), state)[1]
    shapes = [[leaf.shape for leaf in jax.tree.leaves(one)] for one in (state, after)]
    return shapes[0] == shapes[1]


def exported_step(model: SequenceModel, platforms: tuple[str, ...]) -> bytes:
    """A function of x, state and dt, which layers with `rate="path"` do not have.

    The state is a dictionary of arrays by their place in the model's state.
    """
    initial = model.initial_state()
    found, tree = jax.tree_util.tree_flatten_with_path(initial)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in found]

    def step(x, state, dt=None):
        before = jax.tree.unflatten(tree, [state[name] for name in names])
        output, after = model.step(x, before, dt)
        return output, dict(zip(names, jax.tree.leaves(after), strict=True))

    state = dict(zip(names, jax.tree.leaves(initial), strict=True))
    dt = () if follows_path(model) else (jnp.ones((), _real(model)),)
    return _exported(step, platforms, _sample(model, ()), state, *dt)


def exported_sequence(
    model: SequenceModel, platforms: tuple[str, ...], length: int, *, durations: bool
) -> bytes:
    """A function of x and lengths, and of dt if `durations`."""
    pair = (2,) if isinstance(model.head, RetrievalHead) else ()
    x, lengths = _sample(model, (*pair, length)), jnp.full(pair, length, jnp.int32)

    def sequence(x, lengths, dt=None):
        return model(x, dt, lengths)

    dt = (jnp.ones((*pair, length), _real(model)),) if durations else ()
    return _exported(sequence, platforms, x, lengths, *dt)


def _exported(function: Callable, platforms: tuple[str, ...], *arguments: Any) -> bytes:
    """The function for a batch of any size, given arguments of one entry."""
    (batch,) = jax.export.symbolic_shape("batch")
    batched = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((batch, *leaf.shape), leaf.dtype), arguments
    )
    jitted = jax.jit(jax.vmap(function))
    return bytes(jax.export.export(jitted, platforms=platforms)(*batched).serialize())


def _sample(model: SequenceModel, time: tuple[int, ...]) -> jax.ShapeDtypeStruct:
    if isinstance(model.encoder, eqx.nn.Linear):
        inputs = model.encoder.weight.shape[1]
        return jax.ShapeDtypeStruct((*time, inputs), _real(model))
    return jax.ShapeDtypeStruct(time, jnp.dtype("int32"))


def _real(model: SequenceModel) -> jnp.dtype:
    return jax.tree.leaves(model)[0].dtype
