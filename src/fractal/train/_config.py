"""The settings of a run, validated alike in Python, in JSON and on the command line.

An invalid value raises `UserError` with the path of the setting, such as `model.width`.
"""

import dataclasses
import difflib
import json
import os
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

import pydantic
from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from .._checks import check_path, check_type
from .._errors import UserError
from .._run_folder import read_bytes
from ..nn import DenseInit, DType, Encoder, Gate, Masking, Norm
from ..tasks import Preset, Validation

Pooled = Literal["mean", "last"]  # a task has one output per sequence, so `nn.Pooling` less "none"
Groups = Literal["standard", "B-decays", "B-fast", "all-slow"]

Option = bool | int | float | str | list[bool | int | float | str]
"""A value in `ModelConfig.options`."""

_SHOWN = 60  # characters of a wrong value
_STRICT = pydantic.ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def _as_text(path: object) -> object:
    return os.fspath(path) if isinstance(path, os.PathLike) else path


Name = Annotated[str, Field(min_length=1)]
Folder = Annotated[str, Field(min_length=1), BeforeValidator(_as_text)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Rate = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]

C = TypeVar("C")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def _validated(section: str) -> Callable[[type[C]], type[C]]:
    """A frozen, strictly validated dataclass whose errors name `section` and the setting."""

    def decorate(cls: type[C]) -> type[C]:
        made: Any = dataclass(frozen=True, config=_STRICT)(cls)
        construct = made.__init__

        def __init__(self, *args, **kwargs):
            try:
                construct(self, *args, **kwargs)
            except pydantic.ValidationError as error:
                raise _user_error(error, made, section) from None

        __init__.__signature__ = made.__signature__
        made.__init__ = __init__
        return made

    return decorate


@_validated("data")
class DataConfig:
    """The data of a run.

    Args:
        task: one of `fractal.tasks.names()`.
        preset: size of the task: mini, laptop or paper.
        folder: folder of the task's data, unless it is generated or fetched.
        validation: held-out, or test to select the checkpoint on the test set.
        batch: examples per step, over all devices.
        buckets: number of padded lengths; 1 pads every sequence to the task's length.
        curriculum: easier tasks of the same shapes, on which the first 30 % of the steps train.
    """

    task: Name
    _: dataclasses.KW_ONLY
    preset: Preset = "mini"
    folder: Folder | None = None
    validation: Validation = "held-out"
    batch: Count = 50
    buckets: Annotated[int, Field(ge=1, le=16)] = 1
    curriculum: tuple[Name, ...] = ()


@_validated("model")
class ModelConfig:
    """The model of a run.

    What is None has the model's own default. A setting that the model does not have must be None.

    Args:
        name: one of `fractal.train.model_names()`.
        width: number of channels between the blocks.
        depth: number of blocks.
        gate: gate of the blocks; by default the model's own.
        norm: layer or batch norm; by default the model's own.
        norm_momentum: decay of the running averages of batch norm; default 0.95.
        dropout: probability of dropping a channel; default 0.
        encoder: embedding of tokens, or linear map of one-hot tokens; default embedding.
        dense_init: initialization of linear layers, uniform or lecun (S5's); default uniform.
        masking: all: padding has no effect; pooling: left out of the pooling only; default all.
        pooling: mean over all steps, or the last step; default mean.
        bidirectional: whether every step sees the whole sequence; by default it does.
        dtype: precision of activations; default float32.
        remat: whether to recompute activations for the gradient, to save memory; default false.
        options: further arguments of the model, by name.
    """

    name: Name = "fractal"
    _: dataclasses.KW_ONLY
    width: Count = 128
    depth: Annotated[int, Field(ge=1, le=10**6)] = 4
    gate: Gate | None = None
    norm: Norm | None = None
    norm_momentum: Fraction | None = None
    dropout: Fraction | None = None
    encoder: Encoder | None = None
    dense_init: DenseInit | None = None
    masking: Masking | None = None
    pooling: Pooled | None = None
    bidirectional: bool | None = None
    dtype: DType | None = None
    remat: bool | None = None
    options: dict[Name, Option] = dataclasses.field(default_factory=dict)


@_validated("optimizer")
class OptimizerConfig:
    """AdamW with a group for the recurrence parameters (eigenvalues, step sizes, B).

    Args:
        lr: peak learning rate.
        ssm_lr: peak learning rate of the recurrence parameters, which have no weight decay.
        weight_decay: weight decay of all other parameters.
        groups: S5's parameter groups, with S5's names in parentheses. standard (standard): as
            above; B-decays (BandCdecay): B has the learning rate of the recurrence parameters, with
            weight decay; B-fast (BfastandCdecay): B is an ordinary weight; all-slow (noBCdecay): C
            and D are recurrence parameters too.
        dt_global: whether step sizes are ordinary weights.
        warmup: steps of linear warmup, before a cosine decay to 0.
        clip: largest norm of the gradient; 0 for no limit.
        ema: decay of the average of weights that is evaluated; 0 for the last weights.
    """

    lr: Rate = 3e-3
    _: dataclasses.KW_ONLY
    ssm_lr: Rate = 1e-3
    weight_decay: Annotated[float, Field(ge=0)] = 0.05
    groups: Groups = "standard"
    dt_global: bool = False
    warmup: Annotated[int, Field(ge=0, le=10**9)] = 100
    clip: Annotated[float, Field(ge=0)] = 0.0
    ema: Fraction = 0.0


@_validated("")
class Config:
    """Everything that determines the result of a run.

    Args:
        data: task, preset, folder and batch.
        model: name, size and options.
        optimizer: learning rates, weight decay and schedule.
        steps: number of train steps.
        pretrain: steps of self-pretraining before them; 0 for none.
        seed: seed of weights, order of data, and dropout.
        evaluate_every: steps between evaluations on the validation set.
        checkpoint_every: steps between checkpoints.
        log_every: steps between lines of metrics.
        keep: last checkpoints to keep, besides the best one.
    """

    data: DataConfig
    _: dataclasses.KW_ONLY
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    optimizer: OptimizerConfig = dataclasses.field(default_factory=OptimizerConfig)
    steps: Count = 1000
    pretrain: Annotated[int, Field(ge=0, le=10**9)] = 0
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    evaluate_every: Count = 250
    checkpoint_every: Count = 250
    log_every: Count = 10
    keep: Annotated[int, Field(ge=1, le=1000)] = 2

    def __post_init__(self):
        if self.optimizer.warmup >= self.steps:
            raise UserError(
                f"must be less than steps = {self.steps}, got {self.optimizer.warmup}",
                argument="optimizer.warmup",
            )

    def to_json(self) -> str:
        """The settings as JSON; `read_config` reads them back."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


_CONFIG = pydantic.TypeAdapter(Config)


def with_steps(config: Config, steps: int) -> Config:
    """The same run in another number of steps, with all intervals in proportion."""
    check_type("config", config, Config)
    # Validated alone first: the warmup below is derived from it.
    steps = dataclasses.replace(
        config, steps=steps, optimizer=dataclasses.replace(config.optimizer, warmup=0)
    ).steps

    def scaled(count: int) -> int:
        return max(1, round(count * steps / config.steps))

    optimizer = config.optimizer
    warmup = min(steps - 1, scaled(optimizer.warmup)) if optimizer.warmup else 0
    return dataclasses.replace(
        config,
        steps=steps,
        pretrain=scaled(config.pretrain) if config.pretrain else 0,
        optimizer=dataclasses.replace(optimizer, warmup=warmup),
        evaluate_every=scaled(config.evaluate_every),
        checkpoint_every=scaled(config.checkpoint_every),
    )


def read_config(path: str | os.PathLike) -> Config:
    """The settings in a JSON file, such as a run's config.json."""
    path = check_path("path", path)
    text = read_bytes(path)
    if text.startswith(b"\xef\xbb\xbf"):
        raise UserError(f"{path} begins with a byte order mark: save it as plain UTF-8")
    try:
        return _CONFIG.validate_json(text)
    except pydantic.ValidationError as error:
        found = _user_error(error, Config, "")
    message = found.message if found.argument is None else str(found)
    raise UserError(f"{path}: {message}")


def _user_error(error: pydantic.ValidationError, kind: Any, section: str) -> UserError:
    """The first of pydantic's errors in one line, with the path of the setting."""
    first = error.errors(include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return cause
    if first["type"] == "json_invalid":
        return UserError(f"is not JSON: {cause}")
    place, fields = _place(first["loc"], kind)
    path = ".".join([section, *place] if section else place) or None
    if first["type"] == "unexpected_keyword_argument":
        near = difflib.get_close_matches(place[-1], fields, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(fields)}"
        return UserError(f"there is no such setting: {hint}", argument=path)
    if first["type"] in ("missing", "missing_argument"):
        return UserError("is required", argument=path)
    message = first["msg"].removeprefix("Input ").removeprefix("String ")
    message = re.sub("^should ", "must ", message)
    if "options" in place[:-1]:  # pydantic's message is about one of the allowed types
        message = "must be a number, a string, true, false or a list of these"
    return UserError(f"{message}, got {first['input']!r:.{_SHOWN}}", argument=path)


def _place(location: tuple[int | str, ...], kind: Any) -> tuple[list[str], list[str]]:
    """The names on the way to a setting, and those of the last section on it.

    pydantic gives the index of a positional argument, and after a name the types that it tried.
    """
    place, fields = [], []
    for key in location:
        if not dataclasses.is_dataclass(kind):
            if place[-1] == "options":
                place.append(str(key))
            break
        types = {field.name: field.type for field in dataclasses.fields(kind)}
        fields = list(types)
        name = fields[key] if isinstance(key, int) and key < len(fields) else str(key)
        place.append(name)
        kind = types.get(name)
    return place, fields
