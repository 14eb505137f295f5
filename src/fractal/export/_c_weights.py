"""The weights of a model in the order of the structs of the C header, and of the weights file."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ._mixer_plan import RatePlan, unit_complement
from ._plan import BlockPlan, DensePlan, Plan

FILE_VERSION = 1
_MAGIC = b"FRACTALW"


class Member(NamedTuple):
    """An array of a struct: its name and size in C, what it is, and its numbers."""

    name: str
    size: str
    comment: str
    array: Float[np.ndarray, "..."]


class Weights(NamedTuple):
    """All members: those before the blocks, those of each block, and those after them."""

    first: list[Member]
    blocks: list[list[Member]]
    last: list[Member]

    def flat(self) -> list[Member]:
        """All members in the order of the file."""
        return [*self.first, *(member for block in self.blocks for member in block), *self.last]


def weights_of(plan: Plan) -> Weights:
    """The members of the weights of a model."""
    first = _dense("encoder", "INPUTS", "WIDTH", plan.encoder)
    if plan.table is not None:
        size = f"{len(plan.table)} * NAME_WIDTH"
        first.append(Member("positions", size, "position embeddings, by step", plan.table))
    last = []
    if plan.final_norm is not None:
        last.append(Member("final_scale", "NAME_WIDTH", "layer norm", plan.final_norm.scale))
        last.append(Member("final_shift", "NAME_WIDTH", "", plan.final_norm.shift))
    last += _dense("head", "WIDTH", "OUTPUTS", plan.head)
    return Weights(first, [_block(plan, block) for block in plan.blocks], last)


def weights_file(members: Sequence[Member], dtype: str) -> bytes:
    """The flat file: magic number, version, bytes and count of numbers, layout; the numbers."""
    number = np.dtype(dtype).newbyteorder("<")
    count = sum(member.array.size for member in members)
    start = struct.pack("<8s4I", _MAGIC, FILE_VERSION, number.itemsize, count, layout_of(members))
    return start + b"".join(member.array.astype(number).tobytes() for member in members)


def layout_of(members: Sequence[Member]) -> int:
    """A checksum of names and sizes: weights of one layout may replace each other."""
    return zlib.crc32(" ".join(f"{one.name}:{one.array.size}" for one in members).encode())


def _block(plan: Plan, block: BlockPlan) -> list[Member]:
    mixer, dynamics = block.mixer, plan.dynamics
    parts = [
        Member("norm_scale", "NAME_WIDTH", f"{plan.norm} norm", block.norm.scale),
        Member("norm_shift", "NAME_WIDTH", "", block.norm.shift),
        Member("decay", "NAME_MODES", "of the modes per unit of time", np.real(mixer.rates)),
        Member("rotation", "NAME_MODES", "radians per unit of time", np.imag(mixer.rates)),
    ]
    if mixer.rate is not None:
        parts += _rate(mixer.rate)
    elif not dynamics.scale_invariant:
        parts.append(
            Member(
                "complement",
                "2 * NAME_MODES",
                "1 - gate for a duration of 1",
                _parts(unit_complement(dynamics.discretization, mixer.rates)),
            )
        )
    parts += [
        Member(
            "response",
            "NAME_WIDTH * 2 * NAME_MODES",
            "B / lambda: steady states of the modes",
            _parts(mixer.response).T,
        ),
        Member("readout", "2 * NAME_MODES * NAME_WIDTH", "C", mixer.readout.T),
        Member("skip", "NAME_WIDTH", "D", mixer.skip),
    ]
    if block.outer is not None:
        parts += _dense("outer", "WIDTH", "WIDTH", block.outer)
    return parts + _dense("inner", "WIDTH", "WIDTH", block.inner)


def _rate(rate: RatePlan) -> list[Member]:
    size = "NAME_WIDTH * NAME_CLOCKS"
    if rate.bias is None:
        comment = "squared weights of the changes of the input"
        return [Member("path_weight", size, comment, rate.weight.T**2)]
    return [
        Member("rate_weight", size, "rates of the clocks: linear, then softplus", rate.weight.T),
        Member("rate_bias", "NAME_CLOCKS", "", rate.bias),
    ]


def _dense(name: str, inputs: str, outputs: str, dense: DensePlan) -> list[Member]:
    size = f"NAME_{inputs} * NAME_{outputs}"
    return [
        Member(f"{name}_weight", size, f"{name}: linear", dense.weight.T),
        Member(f"{name}_bias", f"NAME_{outputs}", "", dense.bias),
    ]


def _parts(x: np.ndarray) -> Float[np.ndarray, "..."]:
    return np.concatenate([np.real(x), np.imag(x)])
