"""Settings of estimators as JSON, as all their files have them."""

from typing import Any

import numpy as np

from .._errors import UserError

_PAIRS = "pairs"  # key of a dict: its own keys need not be strings


def encode_settings(estimator: Any) -> dict[str, Any]:
    """The settings of an estimator; UserError names the first that has no form in JSON.

    A generator of random numbers becomes None: it has no meaning after the fit.
    """
    found = {}
    for name, value in estimator.get_params(deep=False).items():
        try:
            found[name] = None if isinstance(value, np.random.RandomState) else plain(value)
        except TypeError as error:
            raise UserError(f"{error}: it cannot be saved", argument=name) from None
    return found


def decode_settings(found: dict[str, Any]) -> dict[str, Any]:
    """Inverse of `encode_settings`."""
    return {
        name: dict(value[_PAIRS]) if isinstance(value, dict) else value
        for name, value in found.items()
    }


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers of NumPy as those of Python, arrays and tuples as lists."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {_PAIRS: [[plain(key), plain(one)] for key, one in value.items()]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"is a {type(value).__name__}, not a number, a string or a list of these")
