"""Interruption by a signal: after the current step, with a checkpoint."""

import contextlib
import signal
import threading
from collections.abc import Iterator

from .._errors import UserError


class Interrupted(UserError):
    """A run that was interrupted by a signal, after its state was saved."""

    def __init__(self, step: int, folder: object, received: int):
        super().__init__(f"interrupted after step {step}: resume the run in {folder}")
        self.step, self.folder, self.exit_code = step, folder, 128 + received


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM, to be handled after a step. A second Ctrl-C acts at once."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received  # Python delivers signals to the main thread only
        return

    def receive(number: int, _) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {one: signal.signal(one, receive) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
