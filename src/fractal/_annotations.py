"""Values checked against the annotations of their class, with shapes of arrays across fields."""

import types
import typing
from typing import Any

from jaxtyping import AbstractArray, AnnotationError, jaxtyped


def check_annotations(cls: type, name: str, values: dict[str, Any]) -> None:
    """Raise `ValueError` for values that do not match their annotations, array shapes included."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError:  # an annotation of a registered class that cannot be resolved here
        hints = {name: hint for name, hint in cls.__annotations__.items() if type(hint) is not str}
    with jaxtyped("context"):
        for field, value in values.items():
            if field in hints and not _is_instance(value, hints[field]):
                where = f"{name}.{field}" if name else field
                shown = getattr(value, "dtype", None) or repr(value)[:40]
                shape = f"{list(value.shape)}" if hasattr(value, "shape") else ""
                raise ValueError(f"its {where} cannot be {shown}{shape}")


def _is_instance(value: Any, hint: Any) -> bool:
    """Whether a value matches an annotation; unsupported kinds of annotations match anything."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_is_instance(value, one) for one in arguments)
    if origin is typing.Literal:
        return type(value) is not bool and value in arguments
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(_is_instance(item, arguments[0]) for item in value)
        return len(value) == len(arguments) and all(map(_is_instance, value, arguments))
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if hint is None:
        return value is None
    if hint is Any:
        return True
    if isinstance(hint, type) and (origin is None or issubclass(hint, AbstractArray)):
        try:
            return isinstance(value, hint)
        except AnnotationError:  # a symbolic axis of a registered class
            return True
    return True
