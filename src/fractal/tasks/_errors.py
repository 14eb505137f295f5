"""Errors about data."""

from typing import Literal

from .._errors import UserError

Remedy = Literal["fetch", "generate", "release"]


class DataError(UserError):
    """Data that is missing, corrupted or of the wrong form; the message names file and line."""


class Unavailable(DataError):
    """A source does not respond or returns something else; another one may work."""


class MissingData(DataError):
    """The data of a task is not on this machine.

    - `task`: name of the task.
    - `remedy`: `"fetch"` if `fractal.tasks.fetch` downloads it, `"generate"` if the command
      `fractal data` generates it, `"release"` if only the Long Range Arena release contains it.
    """

    def __init__(self, task: str, remedy: Remedy):
        how = {
            "fetch": f"call fractal.tasks.fetch({task!r}) or pass data=DIR",
            "generate": (
                f"generate it with the command `fractal data {task} --out DIR`, or unpack the Long "
                "Range Arena release, and pass data=DIR"
            ),
            "release": (
                "unpack the Long Range Arena release and pass data=DIR; preset='mini' is a "
                "synthetic substitute"
            ),
        }
        super().__init__(f"the data of task {task!r} is missing: {how[remedy]}")
        self.task, self.remedy = task, remedy

    def __reduce__(self):
        return type(self), (self.task, self.remedy)
