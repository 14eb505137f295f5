"""Models by name: registration and construction."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from .._checks import check_choice, check_count, check_name, check_positive, check_type
from .._errors import UserError
from .._registration import check_new_name
from .._weights import register_classes
from ..nn import Gate, Positions, SequenceModel
from ..tasks import Task
from ._config import ModelConfig

Kind = Literal["mixer", "block", "model"]

# Arguments that are not options: the settings give them to every factory that has them.
_GIVEN = ("self", "task", "width", "depth", "key")
_PASSED = {
    "mixer": ("bidirectional", "dropout"),
    "block": ("bidirectional", "dropout"),
    "model": ("bidirectional", "dropout", "pooling", "dtype"),
}
_AROUND_BLOCKS = ("pooling", "encoder", "dense_init", "masking", "remat")
# Settings of the parts that `SequenceModel` and `Block` add to a mixer or block.
_AROUND = {
    "mixer": ("gate", "norm", "norm_momentum", "dropout", "dtype", *_AROUND_BLOCKS),
    "block": ("dtype", *_AROUND_BLOCKS),
    "model": (),
}
CHOICES = (
    *("gate", "norm", "norm_momentum", "dropout", "bidirectional", "dtype"),
    *_AROUND_BLOCKS,
)
_DEFAULTS = {
    "bidirectional": True,
    "dropout": 0.0,
    "dense_init": "uniform",
    "masking": "all",
    "pooling": "mean",
    "dtype": "float32",
    "remat": False,
}


@dataclasses.dataclass(frozen=True)
class ModelSpec:
    """A registered model; the fields are the arguments of `register_model`."""

    factory: Callable[..., Any]
    kind: Kind = "mixer"
    size: str | None = None
    grain: int = 1
    gate: Gate = "silu"
    length: str | None = None
    positions: Positions = "none"
    final_norm: bool = False
    settings_of: str | None = None
    max_lr: float | None = None
    setup_bytes: Callable[[int], float] | None = None

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Arguments of the factory."""
        return dict(inspect.signature(self.factory).parameters)

    def accepts(self, name: str) -> bool:
        """Whether the factory has an argument of this name."""
        return name in self.parameters()

    def open_ended(self) -> bool:
        """Whether the factory takes arguments of any name."""
        kinds = [one.kind for one in self.parameters().values()]
        return inspect.Parameter.VAR_KEYWORD in kinds

    def takes(self, setting: str) -> bool:
        """Whether the model has this one of the `CHOICES`."""
        if setting in _AROUND[self.kind]:
            return True
        return setting in _PASSED[self.kind] and (self.accepts(setting) or self.open_ended())

    def needs(self, setting: str) -> bool:
        """Whether the factory is given this one of the `CHOICES` always.

        A factory of a whole model has defaults of its own.
        """
        if not self.accepts(setting):
            return False
        required = self.parameters()[setting].default is inspect.Parameter.empty
        return required or self.kind != "model"

    def options(self) -> list[str] | None:
        """Names that `ModelConfig.options` may have; None where the factory takes any."""
        if self.open_ended():
            return None
        given = (*_GIVEN, *_PASSED[self.kind])
        own = [name for name in self.parameters() if name not in given]
        return own if self.positions == "none" else [*own, "positions"]


_MODELS: dict[str, ModelSpec] = {}


def register_model(
    name: str,
    factory: Callable[..., Any],
    *,
    kind: Kind = "mixer",
    size: str | None = None,
    grain: int = 1,
    gate: Gate = "silu",
    length: str | None = None,
    positions: Positions = "none",
    final_norm: bool = False,
    settings_of: str | None = None,
    max_lr: float | None = None,
    setup_bytes: Callable[[int], float] | None = None,
    classes: Sequence[type] = (),
) -> None:
    """Make a model known by name to training, evaluation, comparison, `save` and `load`.

    **Arguments:**

    - `name`: a letter, followed by letters, digits, `-` or `_`; used in settings and as the prefix
      of the classes in saved files. Registering the same factory again replaces it, as when a
      notebook cell is run twice; any other factory under a name in use raises `ValueError`.
    - `factory`: makes one module. What it is called with depends on `kind`. Its other arguments are
      set by `ModelConfig.options`; `bidirectional` and `dropout` are passed where it has them, and
      `pooling` and `dtype` where it makes a whole model.
    - `kind`: `"mixer"`: `factory(width, *, key, …)` makes the mixer of a `fractal.nn.Block`;
      `"block"`: `factory(width, *, key, …)` makes a whole block; `"model"`:
      `factory(task, *, width, depth, key, …)` makes the whole model, which is called as
      `model(x, lengths=lengths, key=key)` for one sequence, with `key=None` in evaluation.
    - `size`: name of the option that controls the parameter count at a given width; `compare` and
      `match_parameters` adjust it.
    - `grain`: `size` is a multiple of this.
    - `gate`: default gate of the blocks around a mixer.
    - `length`: the option that receives the length of the task's sequences.
    - `positions`, `final_norm`: arguments of `SequenceModel`; where `positions` is not `"none"` the
      option `positions` changes it.
    - `settings_of`: name of the model whose published settings are used; by default `name`.
    - `max_lr`: highest learning rate in presets made for other models.
    - `setup_bytes`: memory that the factory needs for a given `size`, besides its parameters.
    - `classes`: all classes of the user's that the model consists of, in addition to `factory`.
    """
    known = _MODELS.get(name) if isinstance(name, str) else None
    check_new_name("model", name, _MODELS, known and known.factory, factory)
    if not callable(factory):
        raise UserError(f"must be callable, got {factory!r:.60}", argument="factory")
    check_choice("kind", kind, get_args(Kind))
    check_choice("gate", gate, get_args(Gate))
    check_choice("positions", positions, get_args(Positions))
    spec = ModelSpec(
        factory,
        kind,
        size,
        grain,
        gate,
        length,
        positions,
        final_norm,
        settings_of,
        max_lr,
        setup_bytes,
    )
    _check_arguments(name, spec)
    register_classes(name.replace("-", "_"), _own_classes(factory, classes))
    _MODELS[name] = spec


def _own_classes(factory: object, classes: Sequence[type]) -> list[type]:
    """The user's classes; those of this library are known to `save` and `load` by themselves."""
    if not isinstance(classes, Sequence) or not all(isinstance(cls, type) for cls in classes):
        raise UserError(f"must be a list of classes, got {classes!r:.60}", argument="classes")
    made = [factory] if isinstance(factory, type) and issubclass(factory, eqx.Module) else []
    found = dict.fromkeys([*made, *classes])
    return [cls for cls in found if not cls.__module__.startswith("fractal.")]


def _check_arguments(name: str, spec: ModelSpec) -> None:
    try:
        found = spec.parameters()
    except (TypeError, ValueError):
        raise UserError(f"{name}: the factory has no signature", argument="factory") from None
    open_ended = spec.open_ended()
    needed = ["task", "width", "depth"] if spec.kind == "model" else ["width"]
    for argument in [*needed, "key"]:
        if argument not in found and not open_ended:
            raise UserError(f"{name}: a {spec.kind} needs the argument {argument!r}",
                            argument="factory")  # fmt: skip
    for role in ("size", "length"):
        option = getattr(spec, role)
        if option is not None and not isinstance(option, str):
            raise UserError(f"must be a name, got {option!r:.60}", argument=role)
        if option is not None and option not in found and not open_ended:
            raise UserError(f"the factory of {name} has no argument {option!r}", argument=role)
    check_count("grain", spec.grain, 1)
    if spec.settings_of is not None and not (
        isinstance(spec.settings_of, str) and spec.settings_of
    ):
        raise UserError(
            f"must be the name of a model, got {spec.settings_of!r:.60}", argument="settings_of"
        )
    if spec.max_lr is not None:
        check_positive("max_lr", spec.max_lr)
    if spec.setup_bytes is not None and not callable(spec.setup_bytes):
        message = f"must be a function of the size, got {spec.setup_bytes!r:.60}"
        raise UserError(message, argument="setup_bytes")


def model_names() -> tuple[str, ...]:
    """The names of all registered models."""
    return tuple(_MODELS)


def spec_of(name: str) -> ModelSpec:
    """The registered model."""
    if not isinstance(name, str):
        raise UserError(f"must be a name, got {name!r:.60}", argument="model.name")
    try:
        check_name("model", name, _MODELS)
    except UserError as error:
        raise UserError(error.message, argument="model.name") from None
    return _MODELS[name]


def check_model(model: ModelConfig) -> None:
    """Raise `UserError` if the model or one of its options does not exist."""
    check_type("model", model, ModelConfig)
    spec = spec_of(model.name)
    known = spec.options()
    for name in model.options:
        if known is not None and name not in known:
            try:
                check_name(f"option of {model.name}", name, known)
            except UserError as error:
                raise UserError(error.message, argument=f"model.options.{name}") from None
    for name in CHOICES:
        if getattr(model, name) is not None and not spec.takes(name):
            message = f"the model {model.name} has no choice of {name}: leave it out"
            raise UserError(message, argument=f"model.{name}")


def build(model: ModelConfig, task: Task, key: PRNGKeyArray) -> Any:
    """The model for a task, with new weights."""
    return _build(model, task, key, per_step=False)


def build_per_step(model: ModelConfig, task: Task, key: PRNGKeyArray) -> SequenceModel:
    """The same model with a head that predicts the inputs of a task at every step.

    It must not be registered as a whole model, which has a head of its own.
    """
    return _build(model, task, key, per_step=True)


def _build(model: ModelConfig, task: Task, key: PRNGKeyArray, per_step: bool) -> Any:
    check_model(model)
    check_type("task", task, Task)
    if not isinstance(key, jax.Array):
        raise UserError(f"must be a random key of JAX, got {key!r:.60}", argument="key")
    spec, options = _MODELS[model.name], dict(model.options)
    if spec.length is not None:
        options.setdefault(spec.length, task.length)
    positions: Any = spec.positions
    if positions != "none":
        positions = options.pop("positions", positions)
    given = {name: x for name in CHOICES if (x := getattr(model, name)) is not None}
    values = _DEFAULTS | given
    for name in _PASSED[spec.kind]:
        if spec.needs(name) or (name in given and name not in _AROUND[spec.kind]):
            options.setdefault(name, values[name])
    try:
        if spec.kind == "model":
            return spec.factory(task, width=model.width, depth=model.depth, key=key, **options)
        made = functools.partial(spec.factory, **options)
        if spec.kind == "block":
            parts: dict[str, Any] = {"block": made}
        else:
            gate, norm = model.gate or spec.gate, model.norm or "layer"
            parts = {"mixer": made, "gate": gate, "norm": norm, "dropout": values["dropout"]}
            parts["norm_momentum"] = model.norm_momentum
        return SequenceModel(
            task.inputs,
            task.inputs if per_step else task.outputs,
            width=model.width,
            depth=model.depth,
            task="regression" if per_step else task.kind,
            tokens=task.tokens,
            pooling="none" if per_step else values["pooling"],
            encoder=model.encoder,
            dense_init=values["dense_init"],
            masking=values["masking"],
            dtype=values["dtype"],
            positions=positions,
            length=task.length if positions == "learned" else None,
            final_norm=spec.final_norm,
            remat=values["remat"],
            **parts,
            key=key,
        )
    except (TypeError, ValueError) as error:
        argument = getattr(error, "argument", None)
        if isinstance(error, UserError) and argument in model.options:
            raise UserError(error.message, argument=f"model.options.{argument}") from None
        if isinstance(error, UserError) and (argument or "").startswith("model."):
            raise
        why = " ".join(str(error).split())
        raise UserError(f"model {model.name}: {why}") from None
