"""Where a measured number comes from: code, date, versions, machine and command."""

import datetime
import importlib.metadata
import os
import pathlib
import platform
import shlex
import subprocess
import sys
from typing import Any

from . import __version__

_PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy")
# Files that measurements write: they change no result.
_OUTPUTS = ("results", "benchmarks")
# Environment variables that change times, and the last digits of results.
_VARIABLES = ("XLA_FLAGS", "JAX_ENABLE_X64", "OMP_NUM_THREADS")


def provenance() -> dict[str, Any]:
    """Everything needed to find out how a number was measured, as JSON-serializable values.

    **Returns:** `commit` (None outside a checkout of this library; it ends in `-dirty` where
    tracked files have uncommitted changes, or where git could not tell), `date` (UTC, ISO 8601),
    `versions`, `machine` (processor, cores, system) and `command`.
    """
    return {
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
        "command": command(),
    }


def commit(package: pathlib.Path | None = None) -> str | None:
    """The commit of the checkout that contains `package`, by default this one."""
    folder = package or pathlib.Path(__file__).parent
    # A package installed below some other repository is not part of that repository.
    if not _git(folder, "ls-files", "--", "__init__.py"):
        return None
    found = _git(folder, "rev-parse", "HEAD")
    excluded = (f":(top,exclude){name}" for name in _OUTPUTS)
    changed = _git(folder, "status", "--porcelain", "-uno", "--", ":(top)", *excluded)
    if not found:
        return None
    return found if changed == "" else f"{found}-dirty"


def _git(folder: pathlib.Path, *arguments: str) -> str | None:
    """What git prints; None where it fails or is not installed."""
    # Inside a git hook these variables name another repository.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def versions() -> dict[str, str | None]:
    """Versions of Python, of this library and of what its numbers depend on."""
    found: dict[str, str | None] = {"python": platform.python_version(), "fractal": __version__}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def machine() -> dict[str, str | int | None]:
    """Processor, number of cores and operating system."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            named = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        named = []
    return named[0] if named else platform.machine()


def command() -> str:
    """The command line of this process, with the variables that change what it measures.

    The program is named without its folder.
    """
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    module = "" if spec is None else spec.name.removesuffix(".__main__")
    program = pathlib.Path(sys.argv[0] if sys.argv else "").name
    if module == "fractal.cli":
        start = ["fractal"]
    elif module:
        start = ["python", "-m", module]
    else:
        start = ["python"] if program in ("", "-c") else [program]
    values = ((name, os.environ.get(name)) for name in _VARIABLES)
    variables = [f"{name}={shlex.quote(value)}" for name, value in values if value]
    return " ".join([*variables, shlex.join([*start, *sys.argv[1:]])])
