"""What a run is: one tree of settings, on the command line and as JSON in the run's folder."""

import dataclasses
import json
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import tyro

from .._checks import check_name
from .._errors import UserError
from ..nn import DType, Pooling
from ..nn._block import GATES
from ..nn._norms import NORMS
from ..tasks._request import Preset, Validation

Option = bool | int | float | str

GROUPINGS = ("standard", "B-decays", "B-fast", "all-slow")


@dataclasses.dataclass(frozen=True)
class Data:
    """
    Args:
        task: name of the task.
        preset: its size, mini or paper.
        folder: where its data is, unless generated or fetched.
        validation: held-out, or test for the way of published results on IMDB.
        batch: examples of a step, over all devices.
        buckets: number of padded lengths; 1 pads everything to the task's length.
    """

    task: str
    preset: Preset = "mini"
    folder: str | None = None
    validation: Validation = "held-out"
    batch: int = 50
    buckets: int = 1


@dataclasses.dataclass(frozen=True)
class Model:
    """
    Args:
        name: of the model.
        width: channels.
        depth: blocks.
        gate: of the blocks; the model's own when None.
        norm: layer or batch; the model's own when None.
        dropout: probability with which a channel is left out.
        pooling: mean or last.
        bidirectional: whether the model sees the whole sequence at every step.
        dtype: of activations.
        options: what else the model takes, by name.
    """

    name: str = "fractal"
    width: int = 128
    depth: int = 4
    gate: str | None = None
    norm: str | None = None
    dropout: float = 0.0
    pooling: str = "mean"
    bidirectional: bool = True
    dtype: str = "float32"
    options: tyro.conf.Suppress[Mapping[str, Option]] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        _check("model.gate", self.gate, (None, *GATES))
        _check("model.norm", self.norm, (None, *NORMS))
        _check("model.pooling", self.pooling, [one for one in get_args(Pooling) if one != "none"])
        _check("model.dtype", self.dtype, get_args(DType))
        _require("model.dropout must lie in [0, 1)", 0 <= self.dropout < 1)
        _require("model.width and model.depth must be positive", min(self.width, self.depth) > 0)


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """
    Args:
        lr: highest learning rate.
        ssm_lr: the same for what governs the states, which has no weight decay.
        weight_decay: of everything else.
        groups: standard: eigenvalues, time steps and B are of the states; B-decays: B has its
            learning rate and weight decay; B-fast: B is like everything else; all-slow: C and D
            are of the states too.
        dt_global: whether time steps are like everything else.
        warmup: steps until the learning rate is reached; it then falls as a cosine, to 0.
        clip: greatest norm of the gradient; 0: no limit.
        ema: the weights that are judged average over 1/(1 − ema) steps; 0: the last ones.
    """

    lr: float = 3e-3
    ssm_lr: float = 1e-3
    weight_decay: float = 0.05
    groups: Literal["standard", "B-decays", "B-fast", "all-slow"] = "standard"
    dt_global: bool = False
    warmup: int = 100
    clip: float = 0.0
    ema: float = 0.0

    def __post_init__(self):
        _check("optimizer.groups", self.groups, GROUPINGS)
        _require("optimizer.lr and ssm_lr must be positive", min(self.lr, self.ssm_lr) > 0)
        _require("optimizer.ema must lie in [0, 1)", 0 <= self.ema < 1)
        least = min(self.weight_decay, self.warmup, self.clip)
        _require("optimizer.weight_decay, warmup and clip must not be negative", least >= 0)


@dataclasses.dataclass(frozen=True)
class Config:
    """
    Args:
        steps: of training.
        seed: decides weights, order of the data and dropout.
        evaluate_every: steps between evaluations on the validation set.
        checkpoint_every: steps between checkpoints.
        log_every: steps between lines of metrics.
        keep: last checkpoints to keep, besides the best.
    """

    data: Data
    model: Model = dataclasses.field(default_factory=Model)
    optimizer: Optimizer = dataclasses.field(default_factory=Optimizer)
    steps: int = 1000
    seed: int = 0
    evaluate_every: int = 250
    checkpoint_every: int = 250
    log_every: int = 10
    keep: int = 2

    def __post_init__(self):
        for name in ("steps", "evaluate_every", "checkpoint_every", "log_every", "keep"):
            _require(f"{name} must be positive", getattr(self, name) > 0)
        _require("seed must not be negative", self.seed >= 0)
        _require("optimizer.warmup must be less than steps", self.optimizer.warmup < self.steps)

    def to_json(self) -> str:
        """As text; `from_json` gives it back."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def shortened(config: Config, steps: int) -> Config:
    """The same run in another number of steps, with all intervals in proportion."""
    _require("steps must be positive", steps > 0)

    def scaled(count: int) -> int:
        return max(1, round(count * steps / config.steps))

    optimizer = config.optimizer
    warmup = min(steps - 1, scaled(optimizer.warmup)) if optimizer.warmup else 0
    return dataclasses.replace(
        config,
        steps=steps,
        optimizer=dataclasses.replace(optimizer, warmup=warmup),
        evaluate_every=scaled(config.evaluate_every),
        checkpoint_every=scaled(config.checkpoint_every),
    )


def from_json(path: pathlib.Path) -> Config:
    """The settings that a file holds."""
    try:
        tree = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{path} is no JSON") from None
    try:
        parts = {"data": Data, "model": Model, "optimizer": Optimizer}
        made = {name: _made(kind, tree.pop(name, {})) for name, kind in parts.items()}
        return _made(Config, {**tree, **made})
    except (TypeError, AttributeError) as error:
        raise UserError(f"{path} holds no settings of ours: {error}") from None


def _made(kind: Any, values: dict) -> Any:
    for name in values:
        check_name("setting", name, [field.name for field in dataclasses.fields(kind)])
    return kind(**values)


def _check(name: str, value: object, choices: Iterable[object]) -> None:
    if value not in choices:
        named = ", ".join(str(choice) for choice in choices)
        raise UserError(f"{name} must be one of {named}, got {value!r}")


def _require(what: str, holds: bool) -> None:
    if not holds:
        raise UserError(what)
