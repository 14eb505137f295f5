"""Settings by task, size and model: registration of tasks, and presets."""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

from .. import tasks
from .._checks import check_name, check_type
from .._errors import UserError
from ..tasks import Preset, Request, Task, Validation
from ._config import Config, DataConfig, ModelConfig, Option
from ._models import CHOICES, spec_of

_BANK = 8  # blocks of the default filter bank over α


class _Presets(NamedTuple):
    mini: tuple[Config, ...]
    laptop: tuple[Config, ...] = ()
    paper: tuple[Config, ...] = ()


_PRESETS: dict[str, _Presets] = {}


def register_task(
    name: str,
    loader: Callable[[Request], Task] | None = None,
    *,
    fetcher: Callable[[Any], pathlib.Path] | None = None,
    config: Config | None = None,
    laptop: Sequence[Config] = (),
    paper: Sequence[Config] = (),
) -> None:
    """Make a task known by name to training, evaluation and comparison.

    **Arguments:**

    - `name`: a letter, followed by letters, digits, `-` or `_`.
    - `loader`: takes a `fractal.tasks.Request` and returns a `fractal.tasks.Task`, such as
      `fractal.tasks.from_arrays` builds. None for a task that `fractal.tasks` knows already.
    - `fetcher`: downloads the task's data, for `fractal.tasks.fetch` and `fractal data`; takes a
      source (`"auto"`, …) and returns a folder.
    - `config`: settings of the preset `"mini"`; by default those of `Config`.
    - `laptop`, `paper`: settings of the presets `"laptop"` and `"paper"`. The first are for all
      models that no others are for. Of several for a model, those with the wanted
      `data.validation` are used.
    """
    given = Config(DataConfig("any")) if config is None else config
    check_type("config", given, Config)
    for size, configs in (("laptop", laptop), ("paper", paper)):
        if isinstance(configs, Config) or not isinstance(configs, Sequence):
            message = f"must be a list of Config, got {type(configs).__name__}"
            raise UserError(message, argument=size)
        for one in configs:
            check_type(size, one, Config)
    if loader is not None:
        tasks.register(name, loader, fetcher=fetcher)
    elif fetcher is not None:
        raise UserError("must be given with a fetcher", argument="loader")
    elif name not in tasks.names():
        raise UserError(f"must be given: there is no task {name!r} yet", argument="loader")
    elif name in _PRESETS:
        raise UserError(f"there is already a task {name!r}: choose another name", argument="name")
    _PRESETS[name] = _Presets(
        (_for_task(given, name, "mini"),),
        tuple(_for_task(one, name, "laptop") for one in laptop),
        tuple(_for_task(one, name, "paper") for one in paper),
    )


def _for_task(config: Config, name: str, size: Preset) -> Config:
    data = dataclasses.replace(config.data, task=name, preset=size)
    return dataclasses.replace(config, data=data)


def preset(
    task: str,
    size: str = "mini",
    model: str = "fractal",
    *,
    validation: str | None = None,
) -> Config:
    """The settings for a task and a model.

    **Arguments:**

    - `task`: name of a task.
    - `size`: the preset: `"mini"`, minutes on a laptop; `"laptop"`, the published length of the
      data, with a model for some hours on two cores; or `"paper"`, the published settings, for
      `"smnist"` and `"psmnist"`, which have none, our own.
    - `model`: name of a model. Settings made for another model are adapted: the model then has its
      own defaults.
    - `validation`: validation set, `"held-out"` or `"test"`; by default that of the settings.
      Nothing is held out for `"test"`, so that the published settings for `"text"` then have more
      steps per epoch.
    """
    if not isinstance(task, str):
        raise UserError(f"must be the name of a task, got {task!r:.60}", argument="task")
    check_name("task", task, tasks.names())
    if size not in get_args(Preset):
        raise UserError(f"must be mini, laptop or paper, got {size!r:.60}", argument="preset")
    if validation is not None and validation not in get_args(Validation):
        raise UserError(f"must be held-out or test, got {validation!r:.60}", argument="validation")
    config = _chosen(task, size, model, validation)
    if validation is None:
        return config
    return dataclasses.replace(config, data=dataclasses.replace(config.data, validation=validation))


def _chosen(task: str, size: str, model: str, validation: str | None) -> Config:
    """The settings registered for a task, adapted to a model."""
    spec = spec_of(model)
    presets = _PRESETS.get(task) or _Presets((Config(DataConfig(task)),))
    known = presets._asdict()[size]
    if not known:
        raise UserError(f"task {task!r} has no preset {size!r}", argument="preset")
    wanted = spec.settings_of or model
    named = [one for one in known if one.model.name == wanted]
    named = named or [one for one in known if one.model.name == known[0].model.name]
    chosen = next((one for one in named if one.data.validation == validation), named[0])
    return _renamed(chosen, model) if chosen.model.name == wanted else _adapted(chosen, model)


def _renamed(config: Config, name: str) -> Config:
    return dataclasses.replace(config, model=dataclasses.replace(config.model, name=name))


def _adapted(config: Config, name: str) -> Config:
    """The same settings for another model, with its own defaults."""
    given, spec = config.model, spec_of(name)
    if given.name == name:
        return config
    options: dict[str, Option] = {}
    if given.name == "s5" and name == "fractal":  # the same number of states
        options = _as_fractal(given)
    kept: dict[str, Any] = {
        choice: getattr(given, choice) if spec.takes(choice) else None for choice in CHOICES
    }
    kept |= dict.fromkeys(("gate", "encoder", "dense_init", "masking"))
    model = dataclasses.replace(given, name=name, options=options, **kept)
    optimizer = config.optimizer
    if spec.max_lr is not None:
        optimizer = dataclasses.replace(optimizer, lr=min(optimizer.lr, spec.max_lr))
    return dataclasses.replace(config, model=model, optimizer=optimizer)


def _as_fractal(s5: ModelConfig) -> dict[str, Option]:
    order = s5.options["order"]
    assert isinstance(order, int)
    return {"order": order // _BANK, "dt_min": s5.options["dt_min"], "dt_max": 0.1}
