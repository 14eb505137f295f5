"""A parallel `map` over processes, with results in order.

Each worker is a child process that reads arguments from its standard input and writes results to
its standard output. It ends when its input does, also when this process is killed, and it is in a
session of its own, so that Ctrl-C in a terminal reaches this process only.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import pickle
import queue
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeVar

from .._checks import check_workers
from .._signals import deferred_signals
from ._errors import DataError

A = TypeVar("A")
R = TypeVar("R")

_AHEAD = 3  # arguments per worker that are submitted before their results are read
_START = f"""
import pickle, sys
try:
    sys.path[:] = pickle.load(sys.stdin.buffer)
except EOFError:
    sys.exit()
from {__name__} import serve
serve()
"""


@contextlib.contextmanager
def parallel_map(
    function: Callable[[A], R], arguments: Iterable[A], workers: int
) -> Iterator[Iterator[R]]:
    """The results of `function` for each of the arguments, computed by `workers` processes.

    A context manager: at its end no process is left, whatever has happened. `function` must be
    importable by name, or a `functools.partial` of such a function. One worker is this process.
    """
    if check_workers(workers) == 1:
        yield map(function, arguments)
        return
    started: list[_Worker] = []
    threads = concurrent.futures.ThreadPoolExecutor(workers)
    try:
        for _ in range(workers):
            with deferred_signals():
                started.append(_Worker(function))
        idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in started:
            idle.put(worker)

        def call(argument: A) -> R:
            worker = idle.get()
            try:
                return worker(argument)
            finally:
                idle.put(worker)

        yield _in_order(threads, call, iter(arguments), _AHEAD * workers)
    finally:
        with deferred_signals():
            for worker in started:
                worker.kill()
            threads.shutdown(wait=True, cancel_futures=True)
            for worker in started:
                worker.close()


def _in_order(
    threads: concurrent.futures.Executor, call: Callable[[A], R], rest: Iterator[A], ahead: int
) -> Iterator[R]:
    pending = collections.deque(
        threads.submit(call, argument) for argument in itertools.islice(rest, ahead)
    )
    while pending:
        result = pending.popleft().result()
        pending.extend(threads.submit(call, argument) for argument in itertools.islice(rest, 1))
        yield result


class _Worker:
    """A child process that applies a function."""

    def __init__(self, function: Callable[[Any], Any]):
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        with contextlib.suppress(BrokenPipeError):  # the first call reports a dead worker
            self._send(sys.path)
            self._send(function)

    def __call__(self, argument: Any) -> Any:
        try:
            self._send(argument)
            assert self._process.stdout is not None
            succeeded, result = pickle.load(self._process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            raise DataError("a worker process died, perhaps for lack of memory") from None
        if not succeeded:
            raise result
        return result

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()

    def kill(self) -> None:
        """End the process at once; calls under way raise `DataError`."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of a process that has ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):  # of an argument that was not read
                assert pipe is not None
                pipe.close()


def serve() -> None:
    """Read a function, then apply it to one argument after another; runs in the child process."""
    source = sys.stdin.buffer
    # Prints of the function must not mix with the results.
    with os.fdopen(os.dup(1), "wb") as results:
        os.dup2(2, 1)
        with contextlib.suppress(EOFError, BrokenPipeError):
            function = pickle.load(source)
            while True:
                _reply(function, pickle.load(source), results)


def _reply(function: Callable[[Any], Any], argument: Any, results: BinaryIO) -> None:
    try:
        answer = pickle.dumps((True, function(argument)))
    except Exception as error:  # of any function, a user's too: raised again in the parent
        answer = _pickled(error)
    results.write(answer)
    results.flush()


def _pickled(error: Exception) -> bytes:
    """The error, or its text where it cannot be restored from a pickle."""
    try:
        answer = pickle.dumps((False, error))
        pickle.loads(answer)
    except Exception:  # such as an error whose constructor has several arguments
        text = " ".join(f"{type(error).__name__}: {error}".split())
        answer = pickle.dumps((False, DataError(text)))
    return answer
