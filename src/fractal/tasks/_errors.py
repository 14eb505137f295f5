"""What goes wrong with data."""

from .._errors import UserError


class DataError(UserError):
    """Data that is missing, damaged or not what it should be; the message names file and line."""
