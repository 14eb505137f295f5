"""How experiments are run: each case on a core of its own, one line of JSON per case.

A case is measured if results/NAME.jsonl has no line for it, or a stale one, which is replaced;
missing ones come first. An interrupted experiment continues when it is called again.
"""

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax

import fractal
from fractal._cores import cores
from fractal._errors import UserError
from fractal._files import write_whole
from fractal._provenance import provenance

from . import code, results


def main(experiment: Callable[[], None]) -> None:
    """Run an experiment from the command line; an error of the user is one line."""
    try:
        if sys.argv[1:]:
            raise UserError(f"experiments take no arguments, got {' '.join(sys.argv[1:])}")
        experiment()
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def run(name: str, cases: Sequence[dict], measure: Callable[..., dict]) -> None:
    """Measure the cases that are missing or stale in results/NAME.jsonl: `measure(**case)`."""
    path = code.ROOT / "results" / f"{name}.jsonl"
    kept = lines(path)
    fresh = [line for line in kept if not results.is_stale(name, line)]
    todo = [case for case in cases if not _among(case, fresh)]
    todo.sort(key=lambda case: _among(case, kept))
    origin = {"code": code.current(name), "provenance": provenance()}
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(code.ROOT / "runs" / "compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    context, own = multiprocessing.get_context("spawn"), cores()
    free = context.Queue()
    for core in own:
        free.put(core)
    with concurrent.futures.ProcessPoolExecutor(len(own), context, _start, (free,)) as pool:
        waiting = {pool.submit(_timed, measure, case): case for case in todo}
        for count, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            if future.exception():
                pool.shutdown(cancel_futures=True)
            case = waiting[future]
            line = case | future.result() | origin
            replace(path, case, line)
            named = ", ".join(str(value) for value in case.values())
            print(f"{name} {count}/{len(todo)}: {named}: {line['seconds']} s", file=sys.stderr)


def lines(path: pathlib.Path) -> list[dict]:
    """The lines of a file of results; none if it does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _among(case: dict, found: list[dict]) -> bool:
    return any(case.items() <= line.items() for line in found)


def replace(path: pathlib.Path, case: dict, line: dict) -> None:
    """Put the line in the place of the case's earlier ones, or at the end."""
    found, placed = [], False
    for old in lines(path):
        if not case.items() <= old.items():
            found.append(old)
        elif not placed:
            found.append(line)
            placed = True
    found += [] if placed else [line]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found)
    write_whole(path, text.encode())


def _start(free: Any) -> None:
    """One core per process, so that XLA starts one thread. macOS does not support it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {free.get()})
    fractal.keep_freed_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the experiment is killed, in the middle of a case."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _timed(measure: Callable[..., dict], case: dict) -> dict:
    start = time.process_time()
    found = measure(**case)
    jax.clear_caches()  # the system limits how many compiled programs a process can have
    return {"seconds": round(time.process_time() - start, 1)} | found
