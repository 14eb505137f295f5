"""The one error that the command line shows without a traceback."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake in what the user gave: one line that says what is wrong and what to do."""

    exit_code = 2


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known, with the one that was perhaps meant."""
    known = tuple(known)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(known)}"
        raise UserError(f"there is no {kind} {name!r}: {hint}")
