"""The base class of errors that the command line prints without a traceback."""


class UserError(ValueError):
    """An invalid argument or setting.

    **Arguments:**

    - `message`: one line: the problem, and how to fix it.
    - `argument`: name of the invalid argument or setting, in Python spelling. The command line
      prints it as a flag.
    """

    exit_code = 2

    def __init__(self, message: str, *, argument: str | None = None):
        super().__init__(message if argument is None else named(argument, message))
        self.message, self.argument = message, argument


def named(argument: str, message: str) -> str:
    """The message with its argument: `order must be even`, or `config: there is no such file`."""
    return f"{argument} {message}" if message.startswith("must ") else f"{argument}: {message}"
