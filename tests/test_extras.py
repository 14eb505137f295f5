"""What works without optional packages, in processes where they cannot be imported."""

import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

from fractal._extras import MissingExtra, require

ROOT = pathlib.Path(__file__).parents[1]
OPTIONAL = (
    *("jax", "jaxlib", "equinox", "optax", "orbax", "tyro", "rich", "matplotlib", "PIL"),
    *("scipy", "pydantic", "pooch", "jinja2"),
)


def without(modules, code):
    """Run `code` in a process in which `modules` are not installed."""
    block = f"import sys; sys.modules.update(dict.fromkeys({tuple(modules)!r}))\n"
    return subprocess.run(
        [sys.executable, "-c", block + code], capture_output=True, text=True, check=False
    )


def test_the_quick_start_lists_every_extra_with_its_contents():
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    listed = {name: contents for names, contents in rows for name in re.findall(r"`(\w+)`", names)}
    assert set(listed) == set(extras) - {"dev", "docs"}
    for name, contents in listed.items():
        inner = re.findall(r"fractal-ssm\[(.*)\]", " ".join(extras[name]))
        assert re.findall(r"`(\w+)`", contents) == (inner[0].split(",") if inner else [])


def test_the_theory_and_the_memory_need_numpy_only(tmp_path):
    path = tmp_path / "memory.safetensors"
    code = f"""
import numpy as np
import fractal
assert fractal.theory.diagonalize(fractal.theory.operator(fractal.theory.Fractional(0.5), 8))
memory = fractal.OnlineMemory(alpha=0.5, order=8).push(np.ones((100, 1)))
memory.save({str(path)!r})
assert abs(fractal.OnlineMemory.load({str(path)!r}).recall([0.5]) - 1).max() < 1e-9
"""
    result = without(OPTIONAL, code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("missing", ["tyro", "rich"])
def test_the_script_names_the_extra_it_needs_in_one_line(missing):
    result = without([missing], "from fractal._main import main; sys.exit(main())")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"fractal: the command line needs {missing}: pip install 'fractal-ssm[cli]'\n"
    )


@pytest.mark.parametrize(
    ("package", "missing", "extra"),
    [
        ("train", "optax", "train"),
        ("train", "pydantic", "train"),
        ("estimators", "sklearn", "estimators"),
    ],
)
def test_a_package_names_the_extra_it_needs(package, missing, extra):
    result = without([missing], f"import fractal.{package}")
    assert result.returncode == 1
    message = result.stderr.splitlines()[-1]
    assert message.startswith("fractal._extras.MissingExtra: fractal.")
    assert message.endswith(f": pip install 'fractal-ssm[{extra}]'")


@pytest.mark.parametrize(("command", "missing"), [("report", "jinja2"), ("train", "optax")])
def test_a_command_names_the_extra_it_needs_in_one_line(command, missing):
    code = f"sys.argv = ['fractal', '{command}', 'listops']; from fractal._main import main"
    result = without([missing], f"{code}; sys.exit(main())")
    assert result.returncode == 2, result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.endswith(f": pip install 'fractal-ssm[{command}]'\n")


def test_the_memory_command_needs_no_more_than_the_command_line(tmp_path):
    table = tmp_path / "series.csv"
    table.write_text("value\n" + "1.5\n" * 300, encoding="utf-8")
    code = f"sys.argv = ['fractal', 'memory', {str(table)!r}, '--json']"
    needed = [module for module in OPTIONAL if module not in ("tyro", "rich")]
    result = without(needed, f"{code}; from fractal._main import main; sys.exit(main())")
    assert result.returncode == 0, result.stderr


def test_a_missing_package_is_named_as_pip_knows_it():
    with pytest.raises(ImportError, match=r"^fractal.train needs no-such: pip install 'fractal-ss"):
        require("train", "json", "no-such")
    with pytest.raises(MissingExtra, match=r"^fractal.tasks needs nothing.at.all: .*\[train\]'"):
        require("train", "nothing.at.all", package="fractal.tasks")


def test_nothing_is_raised_where_all_are_installed():
    require("train", "json", "xml.dom")


def test_tasks_from_arrays_need_no_extra():
    code = "import fractal; fractal.tasks.from_arrays([[1.0, 2.0]] * 20, [0, 1] * 10)"
    result = without(["PIL", "pooch", "rich", "optax"], code)
    assert result.returncode == 0, result.stderr
