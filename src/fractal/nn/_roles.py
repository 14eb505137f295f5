"""Roles of parameters, declared on the fields of modules.

Parameters of a recurrence are usually trained with a lower learning rate and without weight decay.
The role is declared with the field, so that optimizers do not depend on parameter names.
"""

import dataclasses
from typing import Any, Literal, get_args

import jax
from jaxtyping import PyTree

from .._checks import check_choice

Role = Literal["dynamics", "step_size", "rate", "input", "readout", "buffer", "weight"]

_KEY = "fractal.role"


def role(name: Role) -> dict[str, Any]:
    """Metadata that declares the role of a field: `B: Array = eqx.field(metadata=role("input"))`.

    **Arguments:**

    - `name`: `"dynamics"` (eigenvalues of the recurrence), `"step_size"` (Δ), `"rate"` (of
      input-dependent time), `"input"` (B), `"readout"` (C and D), `"buffer"` (an array that is
      not trained, such as a running average) or `"weight"` (all others; the default).

    The role applies to all arrays within the field, unless a nested module declares another.

    >>> import equinox as eqx, jax
    >>> from fractal.nn import role, roles
    >>> class Decay(eqx.Module):
    ...     log_rate: jax.Array = eqx.field(metadata=role("dynamics"))
    ...     out: jax.Array
    >>> found = roles(Decay(jax.numpy.zeros(3), jax.numpy.ones(3)))
    >>> found.log_rate, found.out
    ('dynamics', 'weight')
    """
    check_choice("name", name, get_args(Role))
    return {_KEY: name}


def roles(model: PyTree) -> PyTree[str]:
    """Roles of the arrays of a model, as a tree of the same structure."""
    return jax.tree_util.tree_map_with_path(lambda path, _: _role(model, path), model)


def _role(node: Any, path: tuple[Any, ...]) -> Role:
    """The innermost role declared on the path from `node` to a leaf."""
    found: Role = "weight"
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            if dataclasses.is_dataclass(node):
                declared = {field.name: field.metadata for field in dataclasses.fields(node)}
                found = declared.get(key.name, {}).get(_KEY, found)
            node = getattr(node, key.name)
        elif isinstance(key, jax.tree_util.SequenceKey):
            node = node[key.idx]
        elif isinstance(key, jax.tree_util.DictKey):
            node = node[key.key]
        else:
            break  # a custom container: its arrays have the role declared outside of it
    return found
