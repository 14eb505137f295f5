"""Whether a server responds."""

import threading
import urllib.parse
from typing import Any

from .._extras import MissingExtra, require
from ._errors import Unavailable

SECONDS = 5
"""Time in which a source of data must respond."""


def require_answer(url: str) -> None:
    """Raise `Unavailable` unless a server begins to respond in `SECONDS`.

    A thread bounds the whole request: time limits of sockets do not include the name service.
    """
    import requests

    host = urllib.parse.urlsplit(url).hostname
    outcome: list[Any] = []

    def ask() -> None:
        try:
            with requests.get(url, stream=True, timeout=SECONDS) as response:
                outcome.append(response)
        except (requests.RequestException, OSError, ValueError) as error:
            outcome.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(SECONDS)
    if not outcome or isinstance(outcome[0], requests.Timeout):
        raise Unavailable(f"{host} did not respond in {SECONDS} seconds")
    if isinstance(outcome[0], Exception):
        raise Unavailable(f"cannot reach {host} ({reason(outcome[0])})")
    if not outcome[0].ok:
        raise Unavailable(f"{url} returned {outcome[0].status_code} {outcome[0].reason}")


def require_package(module: str) -> None:
    """Raise `Unavailable` if a package of the extra `train` is not installed."""
    try:
        require("train", module, package="the official source")
    except MissingExtra as error:
        raise Unavailable(str(error)) from None


def reason(error: BaseException) -> str:
    """The innermost cause of an error, in one line."""
    while True:
        inner = getattr(error, "reason", None) or error.__cause__ or error.__context__
        if not isinstance(inner, BaseException):
            break
        error = inner
    text = " ".join(str(error).split())
    return text.partition("(Caused by")[0].strip() or type(error).__name__
