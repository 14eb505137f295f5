"""Paths given on the command line."""

import pathlib

from .._errors import UserError


def given_path(argument: str, text: str) -> pathlib.Path:
    """The path; an empty text is refused, as it would mean the current folder."""
    if not text.strip() or "\0" in text:
        raise UserError("must be a path, got an empty text" if not text.strip() else
                        "must be a path, got a null character", argument=argument)  # fmt: skip
    return pathlib.Path(text)
