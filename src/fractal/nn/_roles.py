"""Roles of parameters, declared by the modules that own them.

An optimizer needs to know which parameters govern a recurrence: these take a lower learning rate
and no weight decay. A module declares it where it declares the field, so that no code outside of it
depends on the names of its parameters.
"""

import dataclasses
from typing import Any, Literal, get_args

import jax
from jaxtyping import PyTree

from .._checks import check_choice

Role = Literal["dynamics", "step_size", "input", "readout", "buffer", "weight"]

_KEY = "fractal.role"


def role(name: Role) -> dict[str, Any]:
    """Metadata that declares the role of a field: `B: Array = eqx.field(metadata=role("input"))`.

    **Arguments:**

    - `name`: `"dynamics"` (eigenvalues of the recurrence), `"step_size"` (Δ), `"input"` (B),
      `"readout"` (C and D), `"buffer"` (an array that is not trained, such as a running average) or
      `"weight"` (everything else; the default of undeclared fields).

    The role holds for all arrays within the field, except where a nested module declares another.

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
    """The role of every array of a model, in a tree of the same structure."""
    return jax.tree_util.tree_map_with_path(lambda path, _: _role(model, path), model)


def _role(node: Any, path: tuple[Any, ...]) -> Role:
    """The innermost role declared on the way from `node` to a leaf."""
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
            break  # a custom container: its arrays have the role declared so far
    return found
