import datetime
import json
import re
import subprocess
import sys

import jax
import numpy as np
import pytest

import fractal
from fractal import _provenance
from fractal._provenance import commit, provenance


def test_it_contains_code_date_versions_machine_and_command():
    found = provenance()
    assert json.loads(json.dumps(found)) == found
    assert set(found) == {"commit", "date", "versions", "machine", "command"}
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(found["date"])
    assert abs(age) < datetime.timedelta(minutes=1)
    assert found["versions"]["fractal"] == fractal.__version__
    assert found["versions"]["jax"] == jax.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert found["machine"]["cores"] >= 1


@pytest.fixture
def checkout(tmp_path):
    """A repository with a package in it, and a function that runs git there."""

    def git(*arguments):
        named = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", *named, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    package = tmp_path / "src"
    package.mkdir()
    (package / "__init__.py").write_text("x = 1\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.jsonl").write_text("{}\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    return package, git


def test_the_commit_is_that_of_the_checkout_and_marked_where_files_have_changed(checkout):
    package, git = checkout
    head = git("rev-parse", "HEAD")
    assert commit(package) == head
    # A result written by the measurement itself is no change of the code.
    (package.parent / "results" / "a.jsonl").write_text("{}\n{}\n")
    assert commit(package) == head
    (package / "__init__.py").write_text("x = 2\n")
    assert commit(package) == f"{head}-dirty"


def test_a_checkout_of_unknown_status_is_not_called_clean(checkout, monkeypatch):
    package, git = checkout

    def slow(command, run=subprocess.run, **options):
        if "status" in command:
            raise subprocess.TimeoutExpired(command, 20)
        return run(command, **options)

    head = git("rev-parse", "HEAD")
    monkeypatch.setattr(_provenance.subprocess, "run", slow)
    assert commit(package) == f"{head}-dirty"


def test_a_package_installed_below_another_repository_has_no_commit(checkout):
    package, _ = checkout
    installed = package.parent / ".venv"
    installed.mkdir()
    (installed / "__init__.py").write_text("")
    assert commit(installed) is None


def test_without_git_there_is_no_commit(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit(checkout[0]) is None
    assert provenance()["commit"] is None


@pytest.mark.parametrize(
    ("module", "arguments", "expected"),
    [
        ("fractal.cli.__main__", ["/a/b/__main__.py", "bench", "a b"], "fractal bench 'a b'"),
        ("experiments.clock", ["/a/clock.py"], "python -m experiments.clock"),
        (None, ["/venv/bin/fractal", "verify"], "fractal verify"),
        (None, ["-c"], "python"),
        (None, [], "python"),
    ],
)
def test_the_command_has_compiler_flags_and_no_folder(monkeypatch, module, arguments, expected):
    class Main:
        __spec__ = type("Spec", (), {"name": module}) if module else None

    monkeypatch.setitem(sys.modules, "__main__", Main)  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "argv", arguments)
    for name in ("XLA_FLAGS", "JAX_ENABLE_X64", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert _provenance.command() == expected
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1 --xla_b")
    assert _provenance.command() == f"XLA_FLAGS='--xla_a=1 --xla_b' {expected}"


def test_the_commit_is_a_full_hash_or_none():
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", provenance()["commit"] or "0" * 40)
