"""The command line: `fractal COMMAND …`. Results go to stdout, everything else to stderr."""

import contextlib
import dataclasses
import functools
import io
import operator
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

from .._errors import UserError
from .bench import Bench
from .compare import Compare
from .data import Data
from .memory import Memory
from .report import Report
from .train import Eval, Train
from .verify import Verify

_DESCRIPTION = "Power-law memory for sequence models. Example: fractal train listops"
_COMMANDS = {
    "train": Train,
    "eval": Eval,
    "compare": Compare,
    "data": Data,
    "verify": Verify,
    "memory": Memory,
    "bench": Bench,
    "report": Report,
}
_CONFIG = (
    tyro.conf.OmitSubcommandPrefixes,
    tyro.conf.FlagCreatePairsOff,
    tyro.conf.HelptextFromCommentsOff,
)
_WITH_SETTINGS = ("train", "compare")  # commands that hand on what they do not know


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code: 0, 1 where a check failed, 2 for a user's mistake."""
    try:
        command = _command(sys.argv[1:] if arguments is None else arguments)
        return command.run()
    except UserError as error:
        print(f"fractal: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"fractal: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fractal: interrupted", file=sys.stderr)
        return 130


def _command(arguments: list[str]) -> Any:
    first = arguments[0] if arguments else ""
    commands = _commands(brief=first in ("-h", "--help"))
    if first not in _WITH_SETTINGS:
        return parsed(commands, arguments)
    command, rest = parsed(commands, arguments, return_unknown_args=True)
    return dataclasses.replace(command, settings=tuple(rest))


def _commands(brief: bool) -> Any:
    """All commands as tyro knows them, `brief` with a line of description each."""
    described = {name: (kind.__doc__ or "").splitlines()[0] for name, kind in _COMMANDS.items()}
    annotated = [
        Annotated[kind, tyro.conf.subcommand(name, description=described[name] if brief else None)]
        for name, kind in _COMMANDS.items()
    ]
    return functools.reduce(operator.or_, annotated)


def parsed(kind: Any, arguments: Sequence[str], **options: Any) -> Any:
    """tyro's reading of the arguments, with its boxed complaint folded into one line."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(
                kind,
                prog="fractal",
                description=_DESCRIPTION,
                args=arguments,
                config=_CONFIG,
                **options,
            )
    except SystemExit as stop:
        if stop.code in (None, 0):
            raise  # --help
        raise UserError(_one_line(complaint.getvalue())) from None


def _one_line(boxed: str) -> str:
    """The text of a box, its parts separated by semicolons."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", boxed)
    inside = [line.strip("│ ") for line in text.splitlines()[1:-1]]
    parts = re.split(r"\s*─{5,}\s*", " ".join(inside))
    return "; ".join(re.sub(r"\s+", " ", part).strip(" .") for part in parts if part.strip())
