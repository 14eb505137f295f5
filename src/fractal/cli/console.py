"""Tables on stdout: as wide as the terminal, or of a fixed width in a file or a pipe."""

import sys

from rich.console import Console


class Stdout(Console):
    """Rich's console, for which a closed pipe is not an error."""

    def __init__(self):
        super().__init__(width=None if sys.stdout.isatty() else 160)

    def on_broken_pipe(self) -> None:
        """Raise for `main`: Rich would exit with code 1, which means a failed check."""
        raise BrokenPipeError
