"""Parameter counts: of a model, of its settings, and settings with a given count."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._checks import check_count, check_type
from .._errors import UserError
from ..nn import roles
from ..tasks import Task
from ._config import ModelConfig
from ._models import build, check_model, spec_of


def parameter_count(model: PyTree) -> int:
    """The number of trained parameters; buffers such as running averages are not counted."""
    leaves, kinds = jax.tree.leaves(model), jax.tree.leaves(roles(model))
    if jax.tree.structure(model) == jax.tree.structure(0) and not _is_parameter(model):
        raise UserError(f"must be a model, got {model!r:.60}", argument="model")
    return sum(
        x.size
        for x, role in zip(leaves, kinds, strict=True)
        if role != "buffer" and _is_parameter(x)
    )


def _is_parameter(leaf: Any) -> bool:
    """Whether it is an array of floats, possibly an abstract one."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.inexact)


def config_parameter_count(model: ModelConfig, task: Task) -> int:
    """The parameter count of a model, without allocating it."""
    check_type("task", task, Task)
    return parameter_count(eqx.filter_eval_shape(lambda: build(model, task, jax.random.key(0))))


def match_parameters(model: ModelConfig, task: Task, target: int) -> ModelConfig:
    """The model with its size chosen so that its parameter count is nearest to `target`."""
    check_model(model)
    check_count("target", target, 1)
    spec = spec_of(model.name)
    if spec.size is None:
        raise UserError(
            f"the parameter count of {model.name} cannot be matched: pass size= to register_model",
            argument="model.name",
        )

    def sized(grains: int) -> ModelConfig:
        options = {**model.options, str(spec.size): grains * spec.grain}
        return dataclasses.replace(model, options=options)

    # The count is affine in the size.
    few, more = (config_parameter_count(sized(grains), task) for grains in (4, 8))
    if more <= few:
        raise UserError(f"the parameter count of {model.name} does not grow with {spec.size}")
    return sized(max(1, round(4 + 4 * (target - few) / (more - few))))
