"""The optimizer: AdamW with groups of parameters by their declared roles.

Parameters that govern the states (eigenvalues, step sizes and, by choice, B, C and D) have a
learning rate of their own and no weight decay, as in S5. All other parameters, norms and biases
included, have weight decay. That holds for the published S5 too: its labels were meant to exclude
the norms and never matched them.
"""

from typing import Any, Literal, TypeVar, cast

import jax
import optax
from jaxtyping import PyTree

from ..nn import Role, roles
from ._config import OptimizerConfig

T = TypeVar("T")

Group = Literal["frozen", "states", "slow", "rest"]


def group(role: Role, optimizer: OptimizerConfig) -> Group:
    """The group of a parameter with this role.

    `"states"`: learning rate `ssm_lr`, no weight decay; `"slow"`: `ssm_lr` with weight decay;
    `"rest"`: `lr` with weight decay; `"frozen"`: not trained.
    """
    match role:
        case "buffer":
            return "frozen"
        case "dynamics" | "rate":
            return "states"
        case "step_size":
            return "rest" if optimizer.dt_global else "states"
        case "input":
            choices: dict[str, Group] = {"B-decays": "slow", "B-fast": "rest"}
            return choices.get(optimizer.groups, "states")
        case "readout":
            return "states" if optimizer.groups == "all-slow" else "rest"
        case _:
            return "rest"


def groups(model: PyTree, optimizer: OptimizerConfig) -> PyTree:
    """The group of every parameter of a model."""
    return jax.tree.map(lambda role: group(role, optimizer), roles(model))


def schedule(optimizer: OptimizerConfig, steps: int, peak: float) -> optax.Schedule:
    """Linear warmup to the peak, then a cosine decay to 0 at the last step."""
    warmup = optimizer.warmup
    rise = optax.linear_schedule(peak / (warmup + 1), peak, warmup) if warmup else None
    fall = optax.cosine_decay_schedule(peak, steps - warmup)
    return fall if rise is None else optax.join_schedules([rise, fall], [warmup])


def apply_gradient(
    transformation: optax.GradientTransformation, gradient: T, opt_state: optax.OptState, model: T
) -> tuple[T, optax.OptState]:
    """The model and the optimizer state after a step."""
    tree: Any = model  # optax's types do not include modules
    with jax.numpy_dtype_promotion("standard"):  # optax computes decay**step, step an integer
        updates, opt_state = transformation.update(cast(Any, gradient), opt_state, tree)
    return cast(T, optax.apply_updates(tree, updates)), opt_state


def moving_average(average: T, model: T, decay: float) -> T:
    """The exponential moving average of weights."""
    return jax.tree.map(lambda old, new: decay * old + (1 - decay) * new, average, model)


def make_optimizer(
    optimizer: OptimizerConfig, steps: int | None = None
) -> optax.GradientTransformation:
    """Optax's transformation for these settings.

    **Arguments:**

    - `optimizer`: the settings.
    - `steps`: number of steps of the schedule; by default both learning rates are constant.
    """
    slow, fast = (
        peak if steps is None else schedule(optimizer, steps, peak)
        for peak in (optimizer.ssm_lr, optimizer.lr)
    )
    grouped = optax.multi_transform(
        {
            "frozen": optax.set_to_zero(),
            "states": optax.adam(slow),
            "slow": optax.adamw(slow, weight_decay=optimizer.weight_decay),
            "rest": optax.adamw(fast, weight_decay=optimizer.weight_decay),
        },
        lambda model: groups(model, optimizer),
    )
    if optimizer.clip == 0:
        return grouped
    return optax.chain(optax.clip_by_global_norm(optimizer.clip), grouped)
