"""A run's settings from the command line: a preset, changed by options."""

import dataclasses
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from .._errors import UserError

_OPTION = "--model.options."


def changed(
    config: Any,
    steps: int | None,
    seed: int | None,
    data: pathlib.Path | None,
    settings: Sequence[str],
) -> Any:
    """The settings with what was given; `settings` are words such as --model.width 64."""
    from ..train._config import Config, shortened

    if steps is not None:
        config = shortened(config, steps)
    if seed is not None:
        config = dataclasses.replace(config, seed=seed)
    if data is not None:
        folder = dataclasses.replace(config.data, folder=str(data.absolute()))
        config = dataclasses.replace(config, data=folder)
    options, rest = _model_options(settings)
    if options:
        model = dataclasses.replace(config.model, options={**config.model.options, **options})
        config = dataclasses.replace(config, model=model)
    if not rest:
        return config
    from . import parsed  # which imports this module's users

    return parsed(Config, rest, default=config)


def _model_options(settings: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """What is said by --model.options.NAME VALUE, and the rest: only the model knows its names."""
    options, rest, words = {}, [], iter(settings)
    for word in words:
        if not word.startswith(_OPTION):
            rest.append(word)
            continue
        name, equals, value = word.removeprefix(_OPTION).partition("=")
        text = value if equals else next(words, None)
        if text is None:
            raise UserError(f"{word} needs a value")
        try:
            options[name.replace("-", "_")] = json.loads(text)
        except ValueError:
            options[name.replace("-", "_")] = text
    return options, rest
