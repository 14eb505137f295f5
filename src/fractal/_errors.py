"""The one error that the command line shows without a traceback."""


class UserError(ValueError):
    """A mistake in what the user gave: one line that says what is wrong and what to do.

    `argument` names the argument or setting that is wrong, as Python spells it; the command line
    shows it as a flag.
    """

    exit_code = 2

    def __init__(self, message: str, *, argument: str | None = None):
        super().__init__(message if argument is None else f"{argument}: {message}")
        self.message, self.argument = message, argument
