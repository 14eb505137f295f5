"""The models by name, each a `SequenceModel` with its own mixer or block."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from .. import baselines
from .._checks import check_name
from .._errors import UserError
from ..nn import FractalSSM, SequenceModel
from ..tasks import Task
from ._config import Model
from ._optimizer import FROZEN


class Kind(NamedTuple):
    """A model: its mixer, the option that sets its size in steps of `grain`, its blocks' gate.

    `length` names the option that the length of the sequences goes to. A model with `mlp` is a
    Transformer, which has blocks of its own.
    """

    mixer: Callable[..., Any]
    size: str
    grain: int
    gate: str = "silu"
    length: str | None = None
    mlp: bool = False


KINDS = {
    "fractal": Kind(FractalSSM, size="order", grain=2, length="length"),
    "s5": Kind(baselines.S5, size="order", grain=16, gate="half_glu2"),
    "s4": Kind(baselines.S4, size="order", grain=2, gate="full_glu", length="length"),
    "s4d": Kind(baselines.S4D, size="order", grain=2, gate="full_glu"),
    "dss": Kind(baselines.DSS, size="order", grain=1, gate="full_glu"),
    "lmu": Kind(baselines.LMU, size="order", grain=1, length="window"),
    "transformer": Kind(baselines.Attention, size="mlp", grain=4, mlp=True),
    "performer": Kind(baselines.Performer, size="mlp", grain=4, mlp=True),
}
"""All models by name; more can be added."""
_NOT_OPTIONS = ("self", "width", "key", "bidirectional", "causal")


def check_names(model: Model) -> None:
    """Refuse a model or an option that there is not, before any data is read."""
    check_name("model", model.name, KINDS)
    kind = KINDS[model.name]
    known = [name for name in inspect.signature(kind.mixer).parameters if name not in _NOT_OPTIONS]
    for name in model.options:
        check_name(f"option of {model.name}", name, known + ["mlp", "positions"] * kind.mlp)


def build(model: Model, task: Task, key: PRNGKeyArray) -> SequenceModel:
    """The model for a task."""
    check_names(model)
    kind, options = KINDS[model.name], dict(model.options)
    common = {
        "inputs": task.inputs,
        "outputs": task.outputs,
        "width": model.width,
        "depth": model.depth,
        "task": task.kind,
        "tokens": task.tokens,
        "pooling": model.pooling,
        "dtype": model.dtype,
        "key": key,
    }
    try:
        if kind.mlp:
            return SequenceModel(**common, **_transformer(model, kind, options, task))
        if kind.length is not None:
            options.setdefault(kind.length, task.length)
        return SequenceModel(
            **common,
            gate=model.gate or kind.gate,
            norm=model.norm or "layer",
            dropout=model.dropout,
            mixer=functools.partial(kind.mixer, bidirectional=model.bidirectional, **options),
        )
    except ValueError as error:
        raise UserError(f"model {model.name}: {error}") from None


def _transformer(model: Model, kind: Kind, options: dict[str, Any], task: Task) -> dict:
    for name in ("gate", "norm"):
        if getattr(model, name) is not None:
            raise UserError(f"model {model.name} has no choice of {name}: leave model.{name} out")
    mlp, positions = options.pop("mlp", None), options.pop("positions", "sinusoid")
    attention = functools.partial(kind.mixer, causal=not model.bidirectional, **options)
    block = functools.partial(
        baselines.TransformerBlock, attention=attention, mlp=mlp, dropout=model.dropout
    )
    length = task.length if positions == "learned" else None
    return {"block": block, "positions": positions, "length": length, "final_norm": True}


def parameters(model: SequenceModel) -> int:
    """How many numbers are trained: running averages and random features are not."""
    leaves = jax.tree_util.tree_leaves_with_path(model)
    return sum(leaf.size for path, leaf in leaves if not FROZEN.search(jax.tree_util.keystr(path)))


def size_of(model: Model, task: Task) -> int:
    """The number of parameters of a model that is not made."""
    return parameters(eqx.filter_eval_shape(lambda: build(model, task, jax.random.key(0))))


def matched(model: Model, task: Task, target: int) -> Model:
    """The model with the size that brings its number of parameters nearest to `target`."""
    kind = KINDS[model.name]

    def sized(grains: int) -> Model:
        options = {**model.options, kind.size: grains * kind.grain}
        return dataclasses.replace(model, options=options)

    # The number grows in proportion to the size, from what does not depend on it.
    few, more = size_of(sized(4), task), size_of(sized(8), task)
    return sized(max(1, round(4 + 4 * (target - few) / (more - few))))
