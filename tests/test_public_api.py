"""A snapshot of the public names and signatures, so that none changes unnoticed.

After an intended change, from the root of the project: python -m tests.test_public_api --write
"""

import difflib
import functools
import importlib
import importlib.util
import inspect
import pathlib
import sys
import types
from typing import Literal, get_args, get_origin

SNAPSHOT = pathlib.Path(__file__).with_name("public_api.txt")
MODULES = ("fractal", *(f"fractal.{part}" for part in ("theory", "nn", "baselines", "tasks")))
MODULES += (
    "fractal.train",
    "fractal.estimators",
    "fractal.report",
    "fractal.export",
    "fractal.torch",
)
HAS_TORCH = importlib.util.find_spec("torch") is not None


def public_api():
    """A line per public name, with its signature, without annotations."""
    lines = []
    for name in MODULES:
        if name == "fractal.torch" and not HAS_TORCH:
            continue
        module = importlib.import_module(name)
        for exported in sorted(dir(module)):
            if exported.startswith("_") or f"{name}.{exported}" in MODULES:
                continue
            value = getattr(module, exported)
            if not isinstance(value, types.ModuleType):
                lines += described(f"{name}.{exported}", value)
    return lines


def described(name, value):
    if get_origin(value) is Literal:
        return [f"{name}: {', '.join(map(repr, get_args(value)))}"]
    if not (inspect.isclass(value) and value.__module__.startswith("fractal")):
        return [name + (signature(value) if inspect.isroutine(value) else "")]
    if issubclass(value, Exception):
        return [f"{name}({', '.join(base.__name__ for base in value.__bases__)})"]
    lines = [name + signature(value)]
    for member in sorted(dir(value)):
        if member.startswith("_") and member != "__call__":
            continue
        found = inspect.getattr_static(value, member)
        if not belongs(value, member):
            continue
        function = getattr(found, "__func__", getattr(found, "__wrapped__", found))
        if isinstance(found, property | functools.cached_property):
            lines.append(f"{name}.{member}: property")
        elif inspect.isroutine(function) and callable(function):
            lines.append(f"{name}.{member}{signature(function)}")
    return lines


def belongs(cls, member):
    """Whether a class of fractal defines `member`, not one that it builds on."""
    owner = next(base for base in cls.__mro__ if member in vars(base))
    return owner.__module__.startswith("fractal")


def signature(function):
    try:
        found = inspect.signature(function)
    except ValueError:  # no signature, as for some types of other libraries
        return "(...)"
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty, default=shown(parameter.default))
        for parameter in found.parameters.values()
    ]
    return str(inspect.Signature(parameters))


class Shown:
    """A default value by a name that does not differ between processes."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def shown(default):
    if default is inspect.Parameter.empty:
        return default
    if callable(default) and hasattr(default, "__qualname__"):
        return Shown(default.__qualname__)
    return Shown(repr(default).partition(" at 0x")[0])


def test_the_public_names_and_signatures_are_those_of_the_snapshot():
    kept = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    if not HAS_TORCH:
        kept = [line for line in kept if not line.startswith("fractal.torch.")]
    changes = list(difflib.unified_diff(kept, public_api(), "kept", "now", lineterm="", n=0))
    assert not changes, "\n".join([*changes, __doc__])


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        raise SystemExit(__doc__)
    if not HAS_TORCH:
        raise SystemExit("the snapshot contains fractal.torch: pip install 'fractal-ssm[torch]'")
    SNAPSHOT.write_text("\n".join(public_api()) + "\n", encoding="utf-8")
