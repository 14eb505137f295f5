"""Sections of code that Ctrl-C and SIGTERM do not interrupt."""

import contextlib
import signal
import threading
from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Deliver Ctrl-C and SIGTERM at the end of the block instead of inside it.

    Their handlers raise exceptions between any two instructions, for example after a process has
    been started and before it is recorded. Python runs handlers in the main thread only, so that
    other threads need no protection. The handlers are replaced, not blocked by a signal mask, since
    a signal may also arrive at a thread that does not block it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number, handler in handlers.items():
            if callable(handler):  # neither ignored, nor the default action, nor set outside Python
                signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)
