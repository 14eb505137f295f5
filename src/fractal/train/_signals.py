"""Being told to stop: after the step at hand, with everything saved."""

import contextlib
import signal
from collections.abc import Iterator

from .._errors import UserError


class Stopped(UserError):
    """A signal came; what was done is saved."""

    def __init__(self, message: str, received: int):
        super().__init__(message)
        self.exit_code = 128 + received


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM; they take effect after a step. A second Ctrl-C is at once."""
    received: list[int] = []

    def receive(number: int, _) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {one: signal.signal(one, receive) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
