"""Options of the sequence model: their values, and which of them go together."""

from collections.abc import Callable
from typing import Any, get_args

import jax
from jaxtyping import PRNGKeyArray

from .._checks import check_choice, check_probability
from .._options import GATES, DType, Masking, Pooling, Positions, SequenceTask
from ._block import Block, Residual
from ._norms import NORMS
from ._ssm import FractalSSM


def check_choices(task: str, pooling: str, dtype: str, positions: str, masking: str) -> None:
    """Raise unless each option is known and the masking fits the pooling."""
    check_choice("task", task, get_args(SequenceTask))
    check_choice("pooling", pooling, get_args(Pooling))
    check_choice("dtype", dtype, get_args(DType))
    check_choice("positions", positions, get_args(Positions))
    check_choice("masking", masking, get_args(Masking))
    if masking == "pooling" and pooling == "none":
        raise ValueError("masking='pooling' needs pooling='mean' or 'last', got 'none'")


def check_consistent(task: str, pooling: str, dtype: str) -> None:
    """Raise unless the pooling fits the task, and the dtype the configuration of JAX."""
    if dtype == "float64" and not jax.config.read("jax_enable_x64"):
        raise ValueError("dtype='float64' needs jax.config.update('jax_enable_x64', True)")
    if task == "next-token" and pooling != "none":
        raise ValueError(f"pooling must be 'none' for task='next-token', got {pooling!r}")
    if task == "retrieval" and pooling == "none":
        raise ValueError("pooling must be 'mean' or 'last' for task='retrieval', got 'none'")


def block_factory(
    block: Callable[..., Residual] | None, dense_init: str, options: dict[str, Any]
) -> Callable[..., Residual]:
    """A function of width and two keys that makes a residual block.

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
    if "gate" in given:
        check_choice("gate", given["gate"], GATES)
    if "norm" in given:
        check_choice("norm", given["norm"], tuple(NORMS))
    if "dropout" in given:
        check_probability("dropout", given["dropout"])

    def make(width: int, one: PRNGKeyArray, two: PRNGKeyArray) -> Residual:
        if block is None:
            return Block(mixer(width, key=one), width, **given, dense_init=dense_init, key=two)
        made = block(width, key=one)
        if not isinstance(made, Residual):
            raise ValueError(
                "block must return a module with __call__, training, step and mixer, as Block "
                f"has, got {type(made).__name__}"
            )
        return made

    return make
