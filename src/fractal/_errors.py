"""The one error that the command line shows without a traceback."""


class UserError(Exception):
    """A mistake in what the user gave: one line that says what is wrong and what to do."""

    exit_code = 2
