"""What Ctrl-C and SIGTERM do: end a command, wait for a block of code, or for a train step."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Terminated(BaseException):  # not an error that other code may handle
    """SIGTERM, raised like KeyboardInterrupt."""


def _in_main_thread() -> bool:
    """Python runs handlers in the main thread only, and lets no other one set them."""
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _handled(handlers: dict[int, Callable]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM, so that files and processes are cleaned up."""

    def terminate(*_: object) -> None:
        raise Terminated

    with _handled({signal.SIGTERM: terminate} if _in_main_thread() else {}):
        yield


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Deliver Ctrl-C and SIGTERM at the end of the block instead of inside it.

    Their handlers raise exceptions between any two instructions, for example after a process has
    been started and before it is recorded. The handlers are replaced, not blocked by a signal mask,
    since a signal may also arrive at a thread that does not block it.
    """
    if not _in_main_thread():
        yield
        return
    received: list[int] = []
    # Others are ignored, have the default action, or were set outside Python.
    chosen = [number for number in _SIGNALS if callable(signal.getsignal(number))]
    try:
        with _handled(dict.fromkeys(chosen, lambda number, _: received.append(number))):
            yield
    finally:
        for number in received:
            signal.raise_signal(number)


@contextlib.contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM, to be handled after a step. A second Ctrl-C acts at once."""
    received: list[int] = []

    def receive(number: int, _: object) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with _handled(dict.fromkeys(_SIGNALS, receive) if _in_main_thread() else {}):
        yield received
