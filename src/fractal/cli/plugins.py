"""`--plugin`: a user's own file or module, which registers models and tasks."""

import hashlib
import importlib
import importlib.util
import pathlib
import sys
import traceback
from collections.abc import Sequence

from .._errors import UserError


def import_plugins(plugins: Sequence[str]) -> None:
    """Import each file (`mine.py`) or module (`package.mine`), once per process."""
    for plugin in plugins:
        path = pathlib.Path(plugin)
        if plugin.endswith(".py") and not path.is_file():
            raise UserError(f"there is no file {path}", argument="plugin")
        try:
            if plugin.endswith(".py"):
                _import_file(path.resolve())
            else:
                _import_module(plugin)
        except Exception as error:  # a user's file may raise anything
            why = " ".join(str(error).split())
            message = f"cannot import {plugin}{_line(error)}: {type(error).__name__}: {why}"
            raise UserError(message, argument="plugin") from None


def _line(error: BaseException) -> str:
    """The line of the user's file, where the error has passed one."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [one.lineno for one in frames if one.name == "<module>"]
    return f", line {places[0]}" if places else ""


def _import_file(path: pathlib.Path) -> None:
    name = f"fractal_plugin_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it is executed, as dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _import_module(name: str) -> None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ImportError("it must be a file FILE.py or a module")
    folder = str(pathlib.Path.cwd())
    if folder not in sys.path:  # as `python -m` does
        sys.path.insert(0, folder)
    importlib.import_module(name)
