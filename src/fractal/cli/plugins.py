"""`--plugin`: a user's own file or module, imported because it registers models and tasks."""

import importlib
import importlib.util
import pathlib
import sys
from collections.abc import Iterable

from .._errors import UserError


def load_plugins(names: Iterable[str]) -> None:
    """Import each file (a path that ends in .py) or module once.

    Nothing else in this library imports code of a user. A file is known to Python by its name
    without .py, so that a process started by it finds the same module.
    """
    for name in names:
        if name.endswith(".py"):
            _import_file(pathlib.Path(name))
        else:
            _import_module(name)


def _import_file(path: pathlib.Path) -> None:
    if not path.is_file():
        raise UserError(f"{path}: no such file", argument="plugin")
    known = sys.modules.get(path.stem)
    if known is not None:
        if pathlib.Path(getattr(known, "__file__", None) or "").resolve() == path.resolve():
            return
        message = f"{path}: there is already a module {path.stem!r}; rename the file"
        raise UserError(message, argument="plugin")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: is no Python file", argument="plugin")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[path.stem]
        raise _failed(str(path), error) from error


def _import_module(name: str) -> None:
    if not name.strip():
        raise UserError("must be a .py file or a module, got an empty text", argument="plugin")
    try:
        importlib.import_module(name)
    except BaseException as error:
        raise _failed(name, error) from error


def _failed(name: str, error: BaseException) -> BaseException:
    """One line for whatever a user's code raises; an interruption is passed on."""
    if isinstance(error, KeyboardInterrupt):
        return error
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return UserError(f"{name}: cannot be imported ({reason})", argument="plugin")
