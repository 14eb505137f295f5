"""Recurrences over a sequence whose time axis is sharded over the devices of a mesh axis.

Each device scans its part. The carry that enters a part follows from the decays and the last
carries of all parts, which are gathered once.
"""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Num

from .pair import Pair
from .solvers import Step, end_and_decay, prefixes

T = TypeVar("T")


def entering(
    axis_name: str,
    method: str,
    step: Step,
    reverse: bool,
    gates: Pair,
    inputs: Float[Array, "time width"],
    start: Pair | None,
) -> Pair:
    """The carry before the first step of this device's part."""
    paired = gates.imag is not None
    end, decay = end_and_decay(method, step, reverse, gates, inputs)
    parts = lax.all_gather(jnp.stack([end.join(), decay.join()]), axis_name)
    ends, decays = (Pair.split(parts[:, i], paired=paired) for i in range(2))
    return prefixes(reverse, decays, ends, start)[lax.axis_index(axis_name)]


def previous(
    axis_name: str | None,
    reverse: bool,
    x: Float[Array, "time width"],
    start: Float[Array, " width"] | None,
) -> Float[Array, "time width"]:
    """x_{k−1} for each step k, or x_{k+1} if `reverse`; `start` (None is zero) at the first one."""
    before = jnp.zeros_like(x[0]) if start is None else start
    if axis_name is not None:
        size = lax.axis_size(axis_name)
        forward = [(i, i + 1) for i in range(size - 1)]
        sent = lax.ppermute(
            x[0] if reverse else x[-1],
            axis_name,
            [(b, a) for a, b in forward] if reverse else forward,
        )
        before = jnp.where(is_first(axis_name, reverse), before, sent)
    return jnp.concatenate([x[1:], before[None]] if reverse else [before[None], x[:-1]])


def hold_last(
    axis_name: str | None,
    reverse: bool,
    x: Float[Array, "time width"],
    kept: Bool[Array, " time"],
    start: Float[Array, " width"],
) -> Float[Array, "time width"]:
    """The last row where `kept` is true, up to and including each step; `start` before the first.

    In reverse time if `reverse`.
    """
    if reverse:
        x, kept = x[::-1], kept[::-1]
    last = lax.cummax(jnp.where(kept, jnp.arange(len(x)), -1))
    if axis_name is not None:
        found, rows = lax.all_gather((last[-1] >= 0, x[jnp.maximum(last[-1], 0)]), axis_name)
        numbers, part = jnp.arange(len(found)), part_number(axis_name)
        if reverse:
            numbers, part = numbers[::-1], len(found) - 1 - part
        owner = jnp.argmax(jnp.where(found & (numbers < part), numbers + 1, 0))
        start = jnp.where((found & (numbers < part)).any(), rows[owner], start)
    held = jnp.where((last >= 0)[:, None], x[jnp.maximum(last, 0)], start[None])
    return held[::-1] if reverse else held


def varying(axis_name: str | None, tree: T) -> T:
    """Declare to `shard_map` that arrays, equal on all devices, may differ between them.

    Custom derivative rules need it: the sum over devices, which the gradient of a common array is,
    is then taken outside of them.
    """
    if axis_name is None:
        return tree
    device = lax.axis_index(axis_name)
    return jax.tree.map(lambda x: jnp.where(device >= 0, x, x), tree)


def check_axis(axis_name: str | None) -> None:
    """Raise `ValueError` if `axis_name` is given and no mesh axis of an enclosing `shard_map`."""
    if axis_name is None:
        return
    try:
        lax.axis_size(axis_name)
    except (NameError, TypeError, ValueError):
        raise ValueError(
            f"axis_name must be a mesh axis of an enclosing jax.shard_map, got {axis_name!r:.40}"
        ) from None


def part_number(axis_name: str) -> Int[Array, ""]:
    """The number of this device's part."""
    return lax.axis_index(axis_name).astype(int)


def total_length(length: int, axis_name: str | None) -> int:
    """The number of steps of all parts, of `length` steps each."""
    return length if axis_name is None else length * lax.axis_size(axis_name)


def total(axis_name: str | None, x: Num[Array, "..."]) -> Num[Array, "..."]:
    """The sum over all parts."""
    return x if axis_name is None else lax.psum(x, axis_name)


def from_owner(
    axis_name: str, owner: Bool[Array, ""], x: Float[Array, "..."]
) -> Float[Array, "..."]:
    """The array of the one device for which `owner` is true, on all devices."""
    return lax.psum(jnp.where(owner, x, jnp.zeros_like(x)), axis_name)


def from_last(
    axis_name: str, mask: Bool[Array, " time"] | None, x: Float[Array, "..."]
) -> Float[Array, "..."]:
    """The array of the last part with a step where `mask` is true; of the last part if none has."""
    part, last = part_number(axis_name), lax.axis_size(axis_name) - 1
    if mask is None:
        return from_owner(axis_name, part == last, x)
    owner = lax.pmax(jnp.where(mask.any(), part, -1), axis_name)
    return from_owner(axis_name, part == jnp.where(owner < 0, last, owner), x)


def sum_before(axis_name: str, reverse: bool, x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The sum over the parts before this one, or after it if `reverse`."""
    part, parts = part_number(axis_name), lax.all_gather(x, axis_name)
    numbers = jnp.arange(len(parts))
    counted = numbers > part if reverse else numbers < part
    return parts.sum(axis=0, where=jnp.expand_dims(counted, tuple(range(1, parts.ndim))))


def is_first(axis_name: str | None, reverse: bool) -> Array | bool:
    """Whether this device's part is the first one of a scan."""
    if axis_name is None:
        return True
    return lax.axis_index(axis_name) == (lax.axis_size(axis_name) - 1 if reverse else 0)
