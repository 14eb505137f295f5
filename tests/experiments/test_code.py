import dataclasses
import json
import pathlib
import shutil

import pytest

from experiments import code, results
from fractal.train import preset
from tests.test_architecture import SOURCE, imports

ROOT = pathlib.Path(__file__).parents[2]
TEXT = '''"""A module."""

LIMIT = 3


class Layer:
    """A layer."""

    def scale(self, x):
        """Scale."""
        if x < 0:
            raise ValueError("x must not be negative")
        return 2 * x  # twice
'''


def hashed(tmp_path, text):
    (tmp_path / "a.py").write_text(text)
    return code.hash_of([tmp_path / "a.py"], tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another text."""'),
        ('    """A layer."""\n', ""),
        ('"""Scale."""', '"""Doubles x."""'),
        ("  # twice", ""),
        ("x must not be negative", "must be positive or zero"),
        ("2 * x", "(2 * x)"),
    ],
)
def test_rewording_does_not_change_the_hash(tmp_path, old, new):
    assert old in TEXT
    assert hashed(tmp_path, TEXT.replace(old, new)) == hashed(tmp_path, TEXT)


@pytest.mark.parametrize(
    ("old", "new"), [("LIMIT = 3", "LIMIT = 4"), ("2 * x", "x * 2"), ("x < 0", "x <= 0")]
)
def test_another_default_or_computation_changes_it(tmp_path, old, new):
    assert hashed(tmp_path, TEXT.replace(old, new)) != hashed(tmp_path, TEXT)


def test_a_moved_file_changes_it(tmp_path):
    first = hashed(tmp_path, TEXT)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert code.hash_of([tmp_path / "b.py"], tmp_path) != first


def test_the_hash_is_the_same_on_all_versions_of_python(tmp_path):
    assert hashed(tmp_path, TEXT) == "34bb3ffa3bf2c857"


@pytest.mark.parametrize("name", code.PARTS)
def test_every_part_of_the_code_exists(name):
    parts, own = code.PARTS[name]
    assert all((ROOT / "src" / "fractal" / part).exists() for part in parts)
    assert all((ROOT / "experiments" / f"{one}.py").is_file() for one in (name, *own))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    root = tmp_path_factory.mktemp("copy")
    for part in ("src/fractal", "experiments"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    return root, code.code_hash("models", root)


@pytest.mark.parametrize(
    ("file", "decides"),
    [
        ("train/_step.py", True),
        ("train/_config.py", True),
        ("train/presets/listops.py", True),
        ("_predictions.py", True),
        ("tasks/_expressions.py", True),
        ("nn/_ssm.py", True),
        ("train/_metrics.py", False),
        ("train/_checkpoints.py", False),
        ("tasks/_network.py", False),
        ("cli/train.py", False),
        ("_errors.py", False),
    ],
)
def test_only_code_that_decides_numbers_is_hashed(copy, file, decides):
    root, before = copy
    path = root / "src" / "fractal" / file
    kept = path.read_text()
    path.write_text(f"{kept}\nADDED = 1\n")
    changed = code.code_hash("models", root) != before
    path.write_text(kept)
    assert changed == decides


def test_the_choice_of_cases_is_not_hashed(tmp_path):
    text = "def measure(x):\n    return 2 * x\n\n\ndef main():\n    run(range(3))\n"
    first = hashed(tmp_path, text)
    assert hashed(tmp_path, text.replace("range(3)", "range(4)")) == first
    assert hashed(tmp_path, text.replace("2 * x", "3 * x")) != first


def test_settings_of_laptop_change_the_hash_of_their_runs_only(copy, monkeypatch):
    root, before = copy
    path = root / "src" / "fractal" / "train" / "presets" / "text.py"
    kept = path.read_text()
    path.write_text(kept.replace("LAPTOP = Config(", "LAPTOP = Config(  # changed\n    seed=7,"))
    assert path.read_text() != kept
    assert code.code_hash("models", root) == before
    path.write_text(kept)
    cases = [{"task": task, "model": "s5", "seed": 0} for task in ("text", "image")]
    text, image = (results.code_of("laptop", case) for case in cases)
    changed = dataclasses.replace(preset("text", "laptop", "s5"), log_every=7)
    monkeypatch.setattr(
        results, "preset", lambda *names: changed if names[0] == "text" else preset(*names)
    )
    assert results.is_stale("laptop", cases[0] | {"code": text})
    assert not results.is_stale("laptop", cases[1] | {"code": image})


@pytest.mark.parametrize("name", results.EXPERIMENTS)
def test_every_kept_line_says_where_it_comes_from(name):
    path = ROOT / "results" / f"{name}.jsonl"
    kept = path.read_text(encoding="utf-8") if path.exists() else ""  # not measured yet
    for line in map(json.loads, kept.splitlines()):
        assert {"code", "provenance"} <= set(line)
        origin = line["provenance"]
        assert set(origin) == {"commit", "date", "versions", "machine", "command"}
        assert origin["commit"]
        assert origin["date"]
        assert "python -m experiments." in origin["command"]


def test_stale_lines_are_counted_with_their_commit_and_date(monkeypatch):
    monkeypatch.setattr(code, "current", lambda name: "now")
    made = {"commit": "0123456789abcdef", "date": "2026-01-02T03:04:05+00:00"}
    fresh, stale = {"code": "now"}, {"code": "then", "provenance": made}
    assert results.stale_note("recall", [fresh, fresh]) == ""
    assert results.stale_note("recall", [fresh, stale, stale]) == (
        "2 of 3 measurements predate the current code (commit 01234567, 2026-01-02)."
    )
    other = {"code": None, "provenance": made | {"commit": "fedcba9876543210"}}
    assert results.stale_note("recall", [stale, other]) == (
        "All 2 measurements predate the current code (commits up to fedcba98, 2026-01-02)."
    )
    assert "unknown commit" in results.stale_note("recall", [{"code": None}])


def test_code_of_a_model_is_hashed_wherever_it_is_in_the_package():
    """Apart from validation, every module of fractal that a model imports is part of the hash."""
    only_validate = {"_checks", "_bounds", "_options"}
    parts, _ = code.PARTS["morse"]
    files = [file for part in parts for file in code._files(SOURCE / part)]
    found = {f"{one.module}.{one.name}".split(".")[1] for file in files for one in imports(file)}
    assert "_spectra" in found
    assert found - only_validate <= {part.removesuffix(".py") for part in parts}
