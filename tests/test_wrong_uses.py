"""Every wrong use in tests/wrong_uses produces its line: a ValueError, or exit code 2."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.wrong_uses.__main__ import TABLES, read

ROOT = pathlib.Path(__file__).parent.parent
CASES = [(table, use, line) for table in TABLES for use, line in read(table).items()]
_FAULTS = (
    *("NO ERROR", "WRONG TYPE", "TRACEBACK", "EXIT", "MORE THAN ONE LINE", "STILL RUNNING"),
    "LEFT BEHIND",
)


@pytest.fixture(scope="module")
def produced():
    """In a process of its own: the type checker of the tests would intercept wrong types."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.wrong_uses"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_tables_hold_at_least_300_wrong_uses():
    assert len(CASES) >= 300
    faults = [use for _, use, line in CASES if not line or line.startswith(_FAULTS)]
    assert not faults


@pytest.mark.parametrize(("table", "use", "line"), CASES, ids=[use for _, use, _ in CASES])
def test_a_wrong_use_produces_its_line(produced, table, use, line):
    assert produced[table][use] == line
