"""Batches whose sequences are sharded along time over the devices of a mesh axis."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jaxtyping import Array

from .._engine.inputs import accepts_axis_name
from .._errors import UserError
from ..nn import SequenceModel
from ..tasks import Task
from ._config import Config
from ._devices import TIME, Devices


def over_time(
    mesh: Mesh,
    axis: int,
    call: Callable[..., Any],
    model: Any,
    inputs: Any,
    lengths: Any,
    keys: Array | None,
) -> Any:
    """`call(model, inputs, lengths, keys, axis_name)` for a batch, on all devices of a mesh.

    If the mesh axis of time has several devices, `call` has the parts of one device. Sequences are
    padded to a multiple of their number.

    **Arguments:**

    - `axis`: the axis of time of the inputs; the axes before it are those of `lengths`.
    """
    shards = mesh.shape[TIME]
    if shards == 1:
        return call(model, inputs, lengths, keys, None)
    length = inputs.shape[axis]
    if padding := -length % shards:
        widths = [(0, padding if i == axis else 0) for i in range(inputs.ndim)]
        inputs = jnp.pad(inputs, widths)
        lengths = jnp.full(inputs.shape[:axis], length) if lengths is None else lengths
    arrays, rest = eqx.partition(model, eqx.is_array)

    def part(arrays, inputs, lengths, keys):
        return call(eqx.combine(arrays, rest), inputs, lengths, keys, TIME)

    # Over the other mesh axis, that of the batch, XLA distributes the work.
    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P(), P(*[None] * axis, TIME), P(), P()),
        out_specs=P(),
        axis_names={TIME},
        check_vma=False,  # sums of batch norm are over a mesh axis and a vmapped one
    )(arrays, inputs, lengths, keys)


def check_shards(devices: Devices, config: Config, task: Task, model: Any) -> None:
    """Raise `UserError` if a model cannot process sequences that are sharded along time."""
    if devices.shards == 1:
        return
    if not isinstance(model, SequenceModel) or not all(map(_is_shardable, model.blocks)):
        message = f"model {config.model.name} cannot process sequences sharded along time"
        raise UserError(message, argument="sequence_shards")
    ragged = task.length % devices.shards or config.data.buckets > 1
    if model.masking == "pooling" and ragged:
        raise UserError(
            f"must divide the length {task.length}, and data.buckets must be 1, if model.masking "
            "is pooling: padding would change the result",
            argument="sequence_shards",
        )


def _is_shardable(block: Any) -> bool:
    calls = (type(block).__call__, type(block).training, type(block.mixer).__call__)
    return all(map(accepts_axis_name, calls))


def time_axis(task: Task) -> int:
    """The axis of time in the inputs of a batch."""
    return 2 if task.kind == "retrieval" else 1
