"""Parallel workers: order, errors, and that nothing is left after a signal."""

import functools
import importlib
import itertools
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
import uuid

import pytest

from fractal._signals import deferred_signals
from fractal.tasks import DataError
from fractal.tasks._parallel import parallel_map


def test_results_come_in_order_from_several_processes():
    with parallel_map(functools.partial(pow, 3), range(50), 2) as results:
        assert list(results) == [3**k for k in range(50)]
    with parallel_map(os.path.realpath, itertools.repeat("/proc/self"), 2) as results:
        found = set(itertools.islice(results, 20))
    assert len(found) == 2
    assert str(os.getpid()) not in "".join(found)


def test_endless_arguments_are_read_only_as_far_as_needed():
    numbers = itertools.count()
    with parallel_map(abs, numbers, 2) as results:
        assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert next(numbers) <= 12


def test_an_error_of_the_function_is_raised_here():
    with parallel_map(int, ["1", "x"], 2) as results:
        assert next(results) == 1
        with pytest.raises(ValueError, match="invalid literal"):
            next(results)


def test_what_a_function_prints_does_not_mix_with_results(capfd):
    with parallel_map(print, ["printed"], 2) as results:
        assert list(results) == [None]
    assert capfd.readouterr().err == "printed\n"


def test_workers_that_die_are_one_line():
    with parallel_map(os._exit, [3] * 20, 2) as results, pytest.raises(DataError, match="died"):
        list(results)


@pytest.mark.parametrize("workers", [0, 10**5])
def test_impossible_numbers_of_workers_are_rejected(workers):
    with (
        pytest.raises(ValueError, match=r"^workers must be (at most|an integer of at least)"),
        parallel_map(abs, [], workers),
    ):
        pass


ODD = """
class Odd(Exception):
    def __init__(self, first, second):  # cannot be restored from a pickle: two arguments
        super().__init__(f"{first} and {second}")

def raises(kind):
    if kind == "odd":
        raise Odd("one", "two")
    if kind == "assertion":
        raise AssertionError("not so")
    return lambda: 0
"""


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("odd", DataError, "Odd: one and two"),
        ("assertion", AssertionError, "not so"),
        ("function", Exception, "local object"),
    ],
)
def test_any_error_of_a_worker_reaches_the_caller(kind, error, message, tmp_path, monkeypatch):
    (tmp_path / "odd_functions.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)
    function = importlib.import_module("odd_functions").raises
    try:
        with parallel_map(function, [kind], 2) as found, pytest.raises(error, match=message):
            list(found)
    finally:
        del sys.modules["odd_functions"]


def test_signals_are_delivered_at_the_end_of_a_deferring_block():
    reached = False
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with deferred_signals():
            signal.raise_signal(signal.SIGINT)
            reached = True
        pytest.fail("the signal was lost")
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    thread = threading.Thread(target=lambda: deferred_signals().__enter__())
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def processes(marker):
    """Ids of all processes started with a marker in their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def interrupt(folder, number, wait, task, whole_group):
    """Send a signal to a running `fractal data`; returns its exit code and stderr."""
    marker = uuid.uuid4().hex
    sizes = {"listops": ("--count", "200000"), "pathfinder": ("--count", "20000")}
    command = [sys.executable, "-m", "fractal.cli", "data", task, "--out", str(folder)]
    process = subprocess.Popen(
        [*command, "--workers", "3", *sizes[task]],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "MARKER": marker},
        start_new_session=True,
        text=True,
    )
    try:
        wait(marker)
        (os.killpg if whole_group else os.kill)(process.pid, number)
        _, errors = process.communicate(timeout=30)
        deadline = time.monotonic() + 2
        while (left := processes(marker)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert left == [], "processes are left"
    finally:
        for pid in processes(marker):
            os.kill(pid, signal.SIGKILL)
    assert [path for path in folder.rglob("*") if not path.is_dir()] == []
    assert not list(folder.rglob("*.part"))
    return process.returncode, errors


def until_working(marker):
    """Until the workers run."""
    while len(processes(marker)) < 4:
        time.sleep(0.01)
    time.sleep(0.3)


@pytest.mark.parametrize(
    ("number", "task", "whole_group", "code", "message"),
    [
        (signal.SIGINT, "listops", True, 130, "fractal: interrupted\n"),
        (signal.SIGTERM, "pathfinder", False, 143, "fractal: terminated\n"),
    ],
)
def test_an_interrupted_generation_leaves_nothing(
    tmp_path, number, task, whole_group, code, message
):
    found, errors = interrupt(tmp_path, number, until_working, task, whole_group)
    assert found == code
    assert errors == message


def test_training_that_is_terminated_while_data_is_generated_leaves_nothing(tmp_path):
    command = [
        sys.executable,
        "-m",
        "fractal.cli",
        "train",
        "listops",
        "--out",
        str(tmp_path / "x"),
    ]
    process = subprocess.Popen(
        command,
        env={**os.environ, "FRACTAL_DATA": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list(tmp_path.rglob("*.part")):
        time.sleep(0.01)
    process.terminate()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 143
    assert errors.endswith("fractal: terminated\n")
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []
    assert not list(tmp_path.rglob("*.part"))


def test_workers_end_when_their_parent_is_killed(tmp_path):
    # The temporary folder stays, since nothing can clean up after SIGKILL.
    marker = uuid.uuid4().hex
    command = [sys.executable, "-m", "fractal.cli", "data", "listops", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [*command, "--workers", "2", "--preset", "mini", "--count", "9999999"],
        env={**os.environ, "MARKER": marker},
        stderr=subprocess.DEVNULL,
    )
    while len(processes(marker)) < 3:
        time.sleep(0.01)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while (left := processes(marker)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("whole_group", [True, False])
@pytest.mark.parametrize("task", ["listops", "pathfinder"])
def test_signals_at_random_moments_leave_nothing(tmp_path, number, whole_group, task):
    rng = random.Random(f"{number} {whole_group} {task}")
    for trial in range(15):
        # A third while the workers start, the others at any moment.
        moment = rng.uniform(0, 0.3 if trial % 3 == 0 else 3)
        started = trial % 3 == 0

        def wait(marker, moment=moment, started=started):
            while started and len(processes(marker)) < 2:
                time.sleep(0.001)
            time.sleep(moment)

        interrupt(tmp_path / f"{trial}", number, wait, task, whole_group)
