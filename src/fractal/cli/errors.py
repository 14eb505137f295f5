"""Errors of the library in the words of the command line."""

from .._errors import UserError, named

# Arguments and settings whose option has another name.
_OPTIONS = {
    "data.folder": "--data",
    "data.preset": "--preset",
    "data.task": "TASK",
    "data.validation": "--validation",
    "folder": "--out",
    "loggers": "--log",
    "model.name": "--model",
    "size": "--preset",
}


def as_flags(error: UserError) -> str:
    """The message in one line, with an argument spelled as an option."""
    if error.argument is None:
        text = str(error)
    else:
        flag = _OPTIONS.get(error.argument, f"--{error.argument.replace('_', '-')}")
        text = named(flag, error.message)
    return " ".join(text.split())
