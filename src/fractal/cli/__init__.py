"""The command line: `fractal COMMAND …`. Results go to stdout, everything else to stderr."""

import importlib
import logging
import os
import signal
import sys
from typing import Any, NamedTuple

from .._checks import check_name
from .._errors import UserError
from .._signals import Terminated, terminable
from .errors import as_flags
from .parse import parse


class _Command(NamedTuple):
    module: str
    kind: str
    summary: str


# Imported when they are called: most of them load JAX.
_COMMANDS = {
    "train": _Command("train", "Train", "train a model on a task, or resume a run"),
    "eval": _Command("train", "Eval", "evaluate a run's best checkpoint on the test set"),
    "compare": _Command("compare", "Compare", "train several models with the same budget"),
    "fit": _Command("fit", "Fit", "fit a classifier or regressor to the series of a file"),
    "predict": _Command("predict", "Predict", "predict with a model of fractal fit"),
    "forecast": _Command("forecast", "Forecast", "forecast the series of a file"),
    "data": _Command("data", "Data", "generate or download the data of a task"),
    "verify": _Command("verify", "Verify", "check every claim of the paper"),
    "memory": _Command("memory", "Memory", "compress the columns of a CSV file"),
    "bench": _Command("bench", "Bench", "measure speed"),
    "export": _Command("export", "Export", "write a model as C, ONNX or StableHLO"),
    "report": _Command("report", "Report", "write an HTML page about runs, or the paper's claims"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    **Returns:** the exit code: 0, 1 if a check failed, 2 for a user's mistake.
    """
    logging.getLogger("absl").setLevel(logging.CRITICAL)  # Orbax logs every step it takes
    try:
        with terminable():
            return _run(sys.argv[1:] if arguments is None else arguments)
    except UserError as error:
        print(f"fractal: {as_flags(error)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a folder without write permission
        print(f"fractal: {error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"fractal: not enough memory: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fractal: interrupted", file=sys.stderr)
        return 130
    except Terminated:
        print("fractal: terminated", file=sys.stderr)
        return 128 + signal.SIGTERM


def _run(arguments: list[str]) -> int:
    if not arguments:
        names = ", ".join(_COMMANDS)
        raise UserError(f"missing command: choose one of {names}; see fractal --help")
    name, *rest = arguments
    if name in ("-h", "--help"):
        print(_help())
        raise SystemExit(0)  # as tyro does for a command's help
    check_name("command", name, _COMMANDS)
    _check_not_empty(rest)
    found = _COMMANDS[name]
    kind: Any = getattr(importlib.import_module(f".{found.module}", __name__), found.kind)
    if hasattr(kind, "with_plugins"):  # whose subcommands depend on them
        kind, rest = kind.with_plugins(rest)
    return parse(kind, rest, f"fractal {name}").run()


def _help() -> str:
    width = max(map(len, _COMMANDS))
    lines = [f"  {name:{width}}  {command.summary}" for name, command in _COMMANDS.items()]
    return "\n".join(
        [
            "usage: fractal COMMAND …",
            "",
            "Power-law memory for sequence models. Example: fractal train listops",
            "",
            *lines,
            "",
            "Options of a command: fractal COMMAND --help",
        ]
    )


def _check_not_empty(arguments: list[str]) -> None:
    """Raise `UserError` if an argument is empty: no option of any command has such a value."""
    for before, word in zip(["", *arguments], arguments, strict=False):
        if word == "" or (word.startswith("--") and word.endswith("=")):
            flag = word[:-1] or (before if before.startswith("-") else "")
            raise UserError(
                f"{flag} must not be empty" if flag else "an argument must not be empty"
            )
