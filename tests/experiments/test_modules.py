"""Names that experiments use of each other exist: they run for hours before they are used."""

import ast
import importlib
import pathlib

import pytest

import experiments

FOLDER = pathlib.Path(experiments.__file__).parent


def uses(path):
    """Names `module.name`, of modules of the package that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        one.asname or one.name: one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module is None
        for one in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = imported.get(node.value.id)
            if module is not None:
                yield module, node.attr


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_names_of_other_modules_exist(path):
    found = {use: importlib.import_module(f"experiments.{use[0]}") for use in uses(path)}
    assert [use for use, module in found.items() if not hasattr(module, use[1])] == []


def test_a_missing_name_would_be_found(tmp_path):
    path = tmp_path / "one.py"
    path.write_text("from . import runs\n\nruns.provenance()\n")
    assert list(uses(path)) == [("runs", "provenance")]
