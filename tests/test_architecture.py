"""The dependencies between the packages, read from the source."""

import ast
import collections
import pathlib
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fractal"
# Each package may import those before it.
ORDER = (
    "theory",
    "_series",
    "_engine",
    "nn",
    "baselines",
    "export",
    "torch",
    "tasks",
    "train",
    "estimators",
    "report",
    "bench",
    "cli",
)


class Import(NamedTuple):
    """One imported name: `from MODULE import NAME`, both absolute."""

    importer: str
    line: int
    module: str
    name: str

    def __str__(self):
        return f"{self.importer}:{self.line}: from {self.module} import {self.name}"


def imports(path):
    """The names that a file imports from fractal, also those imported inside functions."""
    place = path.relative_to(ROOT)
    package = ("fractal", *path.relative_to(SOURCE).parts[:-1]) if SOURCE in path.parents else ()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [(name.name, "") for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*parent, *([node.module] if node.module else [])))
            found = [(module, name.name) for name in node.names]
        else:
            continue
        for module, name in found:
            if module.split(".")[0] == "fractal":
                yield Import(str(place), node.lineno, module, name)


def package_of(parts):
    """`nn` for (fractal, nn, _ssm); `_files` for (fractal, _files); None for fractal itself."""
    return parts[1] if len(parts) > 1 else None


def importing_package(found):
    parts = pathlib.Path(found.importer).with_suffix("").parts
    return package_of(parts[1:]) if parts[0] == "src" else None


def imported_package(found):
    return package_of((*found.module.split("."), *([found.name] if found.name else [])))


def source_imports():
    return [found for path in sorted(SOURCE.rglob("*.py")) for found in imports(path)]


def experiment_imports():
    return [
        found for path in sorted((ROOT / "experiments").rglob("*.py")) for found in imports(path)
    ]


def is_private_to_a_sibling(found):
    """Whether it reaches into another package: a private module of it, or a private name."""
    package = imported_package(found)
    if package not in ORDER or package in ("_engine", "_series", importing_package(found)):
        return False
    return any(part.startswith("_") for part in (*found.module.split(".")[2:], found.name))


def is_private(found):
    return any(part.startswith("_") for part in (*found.module.split(".")[1:], found.name))


def ranks(found):
    """The place of each package in ORDER; a top-level module has that of what it imports."""
    places = {package: place for place, package in enumerate(ORDER)}
    imported = collections.defaultdict(set)
    for one in found:
        imported[importing_package(one)].add(imported_package(one))

    def rank(package, seen=()):
        if package in places:
            return places[package]
        if package is None or package in seen:
            return -1
        return max((rank(other, (*seen, package)) for other in imported[package]), default=-1)

    return {package: rank(package) for package in set(imported).union(*imported.values())}


def listed(found):
    return "\n".join(map(str, found))


def test_packages_hardly_import_private_names_of_each_other():
    reaching = [one for one in source_imports() if is_private_to_a_sibling(one)]
    reaching += [one for one in experiment_imports() if is_private(one)]
    assert len(reaching) < 10, f"{len(reaching)} private names\n{listed(reaching)}"


def test_no_package_imports_one_that_builds_on_it():
    found = source_imports()
    place = ranks(found)
    backward = [
        one
        for one in found
        if importing_package(one) in ORDER
        and place[imported_package(one)] > place[importing_package(one)]
    ]
    assert not backward, listed(backward)


def test_the_library_imports_neither_experiments_nor_tests():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            assert not {"experiments", "tests"} & {module.split(".")[0] for module in modules}, path


def test_no_two_classes_have_one_name():
    places = collections.defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                # fractal.torch has the names of fractal.nn.
                name = f"torch.{node.name}" if path.parent.name == "torch" else node.name
                places[name].append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, twice


def test_every_package_has_its_place_in_the_order():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(ORDER)
