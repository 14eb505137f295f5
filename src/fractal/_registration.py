"""The rules for names under which users register tasks and models."""

import re
from typing import Any

from ._errors import UserError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def check_new_name(kind: str, name: object, known: Any, registered: Any, given: Any) -> None:
    """Raise `UserError` if a name cannot be used in settings and files, or is taken.

    `registered` is what has the name already, `given` what is to be registered. One definition may
    be registered again, as when a notebook cell is run twice.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UserError(
            f"must be a letter followed by letters, digits, - or _, got {name!r:.60}",
            argument="name",
        )
    if name in known and not same_definition(registered, given):
        message = f"there is already a {kind} {name!r}: choose another name"
        raise UserError(message, argument="name")


def same_definition(one: Any, other: Any) -> bool:
    """Whether two functions or classes have the same module and qualified name."""
    if one is other:
        return True
    named = [(getattr(f, "__module__", f), getattr(f, "__qualname__", f)) for f in (one, other)]
    return named[0] == named[1] and "<lambda>" not in str(named[0][1])
