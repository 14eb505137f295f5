import json
import os
import subprocess
import sys
import time

import jax
import pytest

from experiments import cases, code
from fractal._errors import UserError


def square(number, seed):
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}  # not on macOS
    return {"square": number**2, "core": list(cores)}


@pytest.fixture
def some(tmp_path, monkeypatch):
    """An experiment of the name `some`, whose present code has the hash `now`."""
    monkeypatch.setattr(code, "ROOT", tmp_path)
    monkeypatch.setattr(code, "current", lambda name: "now")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    (tmp_path / "results").mkdir()
    return tmp_path / "results" / "some.jsonl"


def test_missing_and_stale_cases_are_measured_and_replace_the_stale_lines(some):
    kept = {"number": 0, "seed": 0, "square": "measured before", "core": [0], "code": "now"}
    stale = {"number": 1, "seed": 0, "square": "of earlier code", "code": "then"}
    unknown = {"number": 2, "seed": 0, "square": "of unknown code", "code": None}
    some.write_text("".join(json.dumps(line) + "\n" for line in (stale, kept, unknown)))
    cases.run("some", [{"number": n, "seed": 0} for n in range(4)], square)
    found = [json.loads(line) for line in some.read_text().splitlines()]
    assert [line["number"] for line in found] == [1, 0, 2, 3]
    assert found[1] == kept
    assert [found[i]["square"] for i in (0, 2, 3)] == [1, 4, 9]
    for line in (found[0], found[2], found[3]):
        assert line["code"] == "now"
        assert set(line["provenance"]) == {"commit", "date", "versions", "machine", "command"}
        assert len(line["core"]) == 1


def fails_at_first(number, seed):
    raise UserError(f"no data for {number}")


def test_an_error_of_the_user_is_one_line_and_keeps_the_results(some, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments"])
    some.write_text('{"number": 0}\n')
    with pytest.raises(SystemExit) as stopped:
        cases.main(lambda: cases.run("some", [{"number": 1, "seed": 0}], fails_at_first))
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "no data for 1\n"
    assert some.read_text() == '{"number": 0}\n'


def test_an_argument_is_rejected(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments", "--seeds", "1"])
    with pytest.raises(SystemExit):
        cases.main(lambda: None)
    assert capsys.readouterr().err == "experiments take no arguments, got --seeds 1\n"


_ENDLESS = """
import os, pathlib, sys, time
from experiments import cases, code

def endless(number):
    pathlib.Path(sys.argv[1], "worker").write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    code.ROOT = pathlib.Path(sys.argv[1])
    code.current = lambda name: "now"
    cases.run("some", [{"number": 0}], endless)
"""


def test_a_worker_ends_with_an_experiment_that_is_killed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(_ENDLESS)
    places = [str(code.ROOT), str(code.ROOT / "src")]
    with subprocess.Popen(
        [sys.executable, program, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        stderr=subprocess.DEVNULL,
    ) as experiment:
        worker = tmp_path / "worker"
        assert _soon(lambda: worker.exists() and worker.read_text())
        experiment.kill()
    assert _soon(lambda: not _runs(int(worker.read_text())))


def _runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _soon(condition):
    """Whether a condition holds within two minutes."""
    end = time.monotonic() + 120
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def test_compiled_programs_of_a_case_are_freed():
    doubled = jax.jit(lambda x: 2 * x)

    def measure(number):
        return {"found": float(doubled(number)), "programs": doubled._cache_size()}

    found = cases._timed(measure, {"number": 3.0})
    assert (found["found"], found["programs"]) == (6.0, 1)
    assert doubled._cache_size() == 0
