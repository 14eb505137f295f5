"""A run's settings as options: `--model.width 64`, `--optimizer.lr 1e-3`, `--log-every 5`.

The options are derived from the classes of the settings. All are optional: what is not given keeps
the value of the preset or file.
"""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import tyro

from .._cores import cores
from ..tasks import names as task_names
from ..train import Config, DataConfig, ModelConfig, OptimizerConfig, model_names
from .parse import UNPREFIXED

CORES = len(cores())
TASKS, MODELS = (
    f"{', '.join(known)}, or one registered by a plugin." for known in (task_names(), model_names())
)


def _overrides(config: type, *without: str) -> Any:
    """A dataclass with the fields of a class of settings, all optional and None by default."""
    hints = get_type_hints(config, include_extras=True)
    markers = (tyro.conf.FlagConversionOff, tyro.conf.arg(help_behavior_hint=""))
    fields = [
        (
            field.name,
            Annotated[(hints[field.name] | None, *markers)],
            dataclasses.field(default=None),
        )
        for field in dataclasses.fields(config)
        if field.name not in without
    ]
    namespace = {"__doc__": config.__doc__}
    return dataclasses.make_dataclass(config.__name__, fields, frozen=True, namespace=namespace)


if TYPE_CHECKING:
    _Run = Any
    _Data = Any
    _Model = Any
    _Optimizer = Any
else:
    _Run = _overrides(Config, "data", "model", "optimizer", "steps", "seed")
    _Data = _overrides(DataConfig, "task", "preset", "folder", "validation")
    _Model = _overrides(ModelConfig, "name", "options")
    _Optimizer = _overrides(OptimizerConfig)


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings that have no option of a shorter name."""

    run: Annotated[_Run, tyro.conf.arg(name="")] = dataclasses.field(
        default_factory=_Run, metadata=UNPREFIXED
    )
    data: _Data = dataclasses.field(default_factory=_Data)
    model: _Model = dataclasses.field(default_factory=_Model)
    optimizer: _Optimizer = dataclasses.field(default_factory=_Optimizer)

    def any_given(self) -> bool:
        return any(_given(part) for part in (self.run, self.data, self.model, self.optimizer))

    def applied(self, config: Config, options: dict[str, Any]) -> Config:
        """The settings `config`, with those given, and with further options of the model."""
        named = {**config.model.options, **options}
        return dataclasses.replace(
            config,
            data=dataclasses.replace(config.data, **_given(self.data)),
            model=dataclasses.replace(config.model, **_given(self.model), options=named),
            optimizer=dataclasses.replace(config.optimizer, **_given(self.optimizer)),
            **_given(self.run),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunCommand:
    """Base class of `fractal train` and `fractal compare`: the settings of runs, as options.

    Args:
        plugin: Python file or module that registers models and tasks.
    """

    plugin: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    settings: Annotated[Settings, tyro.conf.arg(name="")] = dataclasses.field(
        default_factory=Settings, metadata=UNPREFIXED
    )
    options: tyro.conf.Suppress[dict[str, Any]] = dataclasses.field(default_factory=dict)


def _given(part: Any) -> dict[str, Any]:
    values = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    return {name: value for name, value in values.items() if value is not None}


def with_data(config: Config, folder: pathlib.Path | None, validation: str | None = None) -> Config:
    """The settings with another folder of data, or another validation set."""
    changes: dict[str, Any] = {}
    if folder is not None:
        changes["folder"] = str(folder.absolute())
    if validation is not None:
        changes["validation"] = validation
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **changes))
