"""Options of the sequence model: their values, and which of them go together."""

# pyright: reportMissingImports=false

from collections.abc import Callable
from typing import Any, get_args

from torch import nn

from .._checks import check_choice
from .._options import DType, Masking, Pooling, Positions, SequenceTask
from ._block import Block
from ._layer import FractalSSM


def check_options(task: str, pooling: str, dtype: str, positions: str, masking: str) -> None:
    """Raise unless each option is known and fits the others."""
    check_choice("task", task, get_args(SequenceTask))
    check_choice("pooling", pooling, get_args(Pooling))
    check_choice("dtype", dtype, get_args(DType))
    check_choice("positions", positions, get_args(Positions))
    check_choice("masking", masking, get_args(Masking))
    if masking == "pooling" and pooling == "none":
        raise ValueError("masking='pooling' needs pooling='mean' or 'last', got 'none'")
    if task == "next-token" and pooling != "none":
        raise ValueError(f"pooling must be 'none' for task='next-token', got {pooling!r}")
    if task == "retrieval" and pooling == "none":
        raise ValueError("pooling must be 'mean' or 'last' for task='retrieval', got 'none'")


def block_factory(
    block: Callable[..., nn.Module] | None, dense_init: str, options: dict[str, Any]
) -> Callable[[int], nn.Module]:
    """A function of the width that makes a residual block.

    **Arguments:**

    - `block`: a factory that replaces `Block`, or None.
    - `options`: the mixer, and options of `Block`; None where not given.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if block is not None and given:
        raise ValueError(f"{' and '.join(given)} cannot be given together with block")
    mixer = given.pop("mixer", FractalSSM)
    for name, factory in (("mixer", mixer), ("block", block or mixer)):
        if not callable(factory):
            raise ValueError(f"{name} must be callable, got {factory!r}")

    def make(width: int) -> nn.Module:
        if block is not None:
            return block(width)
        return Block(mixer(width), width, **given, dense_init=dense_init)

    return make
