"""Parse the command line with tyro; its errors become one line."""

import contextlib
import dataclasses
import difflib
import itertools
import json
import types
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

import tyro

from .._errors import UserError

try:  # tyro's errors as data; private to tyro, so that our dependency on it has an upper bound
    from tyro import _errors as events
except ImportError:  # another tyro prints its own message, in several lines
    events = None

UNPREFIXED = {"prefix": ""}
"""Metadata of a field whose own name is not part of the options within it."""
NO_HINT = tyro.conf.arg(help_behavior_hint="")
"""Marks an option without a default value, so that its help does not end in "(default: None)"."""
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}  # as tyro writes them
_OPTION = "--model.options."
_EXPECTED = {"INT": "an integer", "FLOAT": "a number"}
_CONFIG = (
    tyro.conf.OmitSubcommandPrefixes,
    tyro.conf.FlagCreatePairsOff,
    tyro.conf.HelptextFromCommentsOff,
    tyro.conf.DisallowNone,
)


def parse(kind: Any, arguments: Sequence[str], program: str) -> Any:
    """The command of class `kind` that the arguments describe.

    Raises `UserError` for invalid arguments, and `SystemExit` after `--help`.
    """
    options = None
    if any(field.name == "options" for field in dataclasses.fields(kind)):
        options, arguments = _model_options(arguments)

    def reject(event: Any) -> NoReturn:
        raise UserError(_one_line(event, kind, arguments, program))

    hook = contextlib.nullcontext() if events is None else events.on_parse_error(reject)
    with hook:
        command = tyro.cli(kind, prog=program, args=arguments, config=_CONFIG)
    return command if not options else dataclasses.replace(command, options=options)


def _model_options(arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The values of `--model.options.NAME VALUE`, and all other arguments.

    Which names there are depends on the model, so that tyro cannot read them.
    """
    options, rest, words = {}, [], iter(arguments)
    for word in words:
        if word.partition("=")[0] == _OPTION.removesuffix("."):
            raise UserError(f"{_OPTION}NAME VALUE: the name of an option is missing")
        if not word.startswith(_OPTION):
            rest.append(word)
            continue
        name, equals, value = word.removeprefix(_OPTION).partition("=")
        text = value if equals else next(words, None)
        if text is None:
            raise UserError(f"{word}: needs a value")
        try:
            options[name.replace("-", "_")] = json.loads(_CONSTANTS.get(text, text))
        except (ValueError, RecursionError):
            options[name.replace("-", "_")] = text
    return options, rest


def _one_line(event: Any, kind: Any, arguments: Sequence[str], program: str) -> str:
    """What is wrong, and what to do."""
    unknown = getattr(event, "tokens", None) or getattr(event, "unrecognized_tokens", None)
    match type(event).__name__:
        case "UnrecognizedArgs" | "MissingArgs" if unknown:
            return _unknown(unknown, kind, program)
        case "MissingArgs":
            names = [_name(one.arg) for one in event.missing_arguments]
            return f"{', '.join(names)} must be given; see {program} --help"
        case "MissingSubcommand":
            names = ", ".join(event.subcommand_spec.parser_from_name)
            return f"{program} must be followed by one of {names}"
        case "InvalidChoice":
            allowed = ", ".join(sorted(choice for choice in event.choices if choice != "None"))
            return f"{_name(event.argument)} must be one of {allowed}, got {event.value!r}"
        case "BadValue":
            return f"{_name(event.argument)}: needs a value"
        case "InstantiationFailure":
            return _wrong_value(event, arguments)
    return f"invalid arguments; see {program} --help"


def _wrong_value(event: Any, arguments: Sequence[str]) -> str:
    why = " ".join(event.message.partition("\n")[0].split())
    if event.argument is None:
        return why
    name = _name(event.argument)
    expected = _EXPECTED.get(str(event.argument.lowered.metavar))
    for word, value in itertools.pairwise([*reversed(arguments), ""]):
        flag, equals, inline = value.partition("=")
        if expected is not None and flag.replace("_", "-") == name:
            return f"{name} must be {expected}, got {inline if equals else word!r}"
    return f"{name}: {why}"


def _name(argument: Any) -> str:
    """An option, or a positional argument as the help shows it."""
    name = argument.display_name()
    return name if name.startswith("-") else name.upper()


def _unknown(tokens: Sequence[str], kind: Any, program: str) -> str:
    first = tokens[0].partition("=")[0]
    if not first.startswith("-"):
        return f"unexpected argument {tokens[0]!r}; see {program} --help"
    known = list(_flags(kind))
    # A flag that is known belongs to another subcommand.
    near = [] if first in known else difflib.get_close_matches(first, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"see {program} --help"
    return f"there is no option {first}: {hint}"


def _flags(kind: Any, prefix: str = "") -> Iterator[str]:
    """All options of a command."""
    hints, marked = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint, markers = hints[field.name], getattr(marked[field.name], "__metadata__", ())
        if any(marker in (tyro.conf.Positional, tyro.conf.Suppress) for marker in markers):
            continue
        parts = get_args(hint) if get_origin(hint) in (types.UnionType, Union) else (hint,)
        nested = [one for one in parts if dataclasses.is_dataclass(one)]
        inner = field.metadata.get("prefix", "" if len(parts) > 1 else f"{field.name}.")
        for one in nested:
            yield from _flags(one, prefix + inner)
        if not nested:
            yield f"--{prefix}{field.name}".replace("_", "-")
