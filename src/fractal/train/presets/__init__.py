"""Settings by task, size and model: one file a task, which says what to expect of it.

`MINI` is FRACTAL's, `PAPER` S5's published recipe and `TRANSFORMER` that of the Long Range Arena.
Other models take these over as far as they apply.
"""

import dataclasses
import types

from ..._checks import check_name
from .._config import Config, Option
from .._models import KINDS
from . import image, listops, pathfinder, pathx, psmnist, retrieval, smnist, text

_BANK = 8  # blocks of the default filter bank over α
_ATTENTION_LR = 1e-3  # above it Transformers are apt to fail

TASKS: dict[str, types.ModuleType] = {
    "listops": listops,
    "text": text,
    "retrieval": retrieval,
    "image": image,
    "pathfinder": pathfinder,
    "pathx": pathx,
    "smnist": smnist,
    "psmnist": psmnist,
}


def preset(task: str, size: str, model: str) -> Config:
    """The settings for a task and a model, `"mini"` or `"paper"`."""
    check_name("task", task, TASKS)
    check_name("model", model, KINDS)
    if size == "paper" and KINDS[model].mlp:
        return _renamed(TASKS[task].TRANSFORMER, model)
    config = TASKS[task].MINI if size == "mini" else TASKS[task].PAPER
    return config if config.model.name == model else _adapted(config, model)


def _renamed(config: Config, name: str) -> Config:
    return dataclasses.replace(config, model=dataclasses.replace(config.model, name=name))


def _adapted(config: Config, name: str) -> Config:
    """The same recipe for another model, at its own defaults."""
    given = config.model
    options: dict[str, Option] = {}
    if given.name == "s5" and name == "fractal":  # as many states
        options["order"] = int(given.options["order"]) // _BANK
        options |= {"dt_min": given.options["dt_min"], "dt_max": 0.1}
    model = dataclasses.replace(given, name=name, gate=None, options=options)
    optimizer = config.optimizer
    if KINDS[name].mlp:
        model = dataclasses.replace(model, norm=None)
        optimizer = dataclasses.replace(optimizer, lr=min(optimizer.lr, _ATTENTION_LR))
    return dataclasses.replace(config, model=model, optimizer=optimizer)
