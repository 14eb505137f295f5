"""`--plugin`: a user's own file or module, which registers models and tasks."""

import hashlib
import importlib
import importlib.util
import pathlib
import sys
from collections.abc import Sequence

from .._errors import UserError


def import_plugins(plugins: Sequence[str]) -> None:
    """Import each file (`mine.py`) or module (`package.mine`), once per process."""
    for plugin in plugins:
        try:
            if plugin.endswith(".py"):
                _import_file(pathlib.Path(plugin))
            else:
                _import_module(plugin)
        except (ImportError, SyntaxError, UnicodeDecodeError, OSError) as error:
            why = " ".join(str(error).split())
            message = f"cannot import {plugin}: {type(error).__name__}: {why}"
            raise UserError(message, argument="plugin") from None


def _import_file(path: pathlib.Path) -> None:
    if not path.is_file():
        raise UserError(f"there is no file {path}", argument="plugin")
    path = path.resolve()
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
        raise UserError(f"must be a file FILE.py or a module, got {name!r}", argument="plugin")
    folder = str(pathlib.Path.cwd())
    if folder not in sys.path:  # as `python -m` does
        sys.path.insert(0, folder)
    importlib.import_module(name)
