"""Work spread over processes, its results in order."""

import collections
import concurrent.futures
import itertools
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterable
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from ._errors import DataError

A = TypeVar("A")
R = TypeVar("R")


def ordered(
    function: Callable[[A], R], arguments: Iterable[A], workers: int
) -> Generator[R, None, None]:
    """Like `map`, by `workers` processes; no further ahead of the reader than it must be.

    One worker is this process itself. With more, a script needs the usual
    `if __name__ == "__main__":`, since the processes are spawned: a fork of a process that has
    loaded JAX may hang.
    """
    if workers == 1:
        yield from map(function, arguments)
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_leave_interrupts_to_parent
    )
    rest = iter(arguments)
    try:
        waiting = collections.deque(
            pool.submit(function, argument) for argument in itertools.islice(rest, 3 * workers)
        )
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(pool.submit(function, one) for one in itertools.islice(rest, 1))
            yield result
    except BrokenProcessPool:
        raise DataError("a worker process died, perhaps for want of memory") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
