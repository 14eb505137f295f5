"""Where tables are printed: stdout, as wide as a terminal, or wide enough for a file or a pipe."""

import sys

from rich.console import Console


class Stdout(Console):
    """Rich's console, but a reader of a pipe that has enough is no failure of ours."""

    def __init__(self):
        super().__init__(width=None if sys.stdout.isatty() else 160)

    def on_broken_pipe(self) -> None:
        """Leave it to `main`; Rich would exit with code 1, our code for a failed check."""
        raise BrokenPipeError
