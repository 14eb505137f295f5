"""Errors and warnings of the library in the words of the command line."""

import contextlib
import sys
import warnings
from collections.abc import Iterator

from .._errors import UserError, named

# Arguments and settings whose option has another name.
_OPTIONS = {
    "data.folder": "--data",
    "data.preset": "--preset",
    "data.task": "TASK",
    "data.validation": "--validation",
    "folder": "--out",
    "loggers": "--log",
    "max_epochs": "--epochs",
    "max_steps": "--steps",
    "model.name": "--model",
    "random_state": "--seed",
}


def as_flags(error: UserError) -> str:
    """The message in one line, with an argument spelled as an option."""
    if error.argument is None:
        text = str(error)
    else:
        flag = _OPTIONS.get(error.argument, f"--{error.argument.replace('_', '-')}")
        text = named(flag, error.message)
    return " ".join(text.split())


@contextlib.contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print warnings, such as that of an interrupted training, without their place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"fractal: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
