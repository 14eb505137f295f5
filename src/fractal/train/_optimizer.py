"""The optimizer: AdamW with groups of parameters chosen by their full path.

What governs the states (eigenvalues, time steps, by choice B, C, D) has a learning rate of its own
and no weight decay, as in S5. Everything else, norms and biases included, has weight decay: in S5
too, whose labels were meant to leave the norms out and never matched them.
"""

import re
from typing import Any, TypeVar, cast

import jax
import optax
from jaxtyping import PyTree

from ._config import Optimizer

T = TypeVar("T")

# Paths such as .blocks[3].mixer.bank.log_decay
FROZEN = re.compile(r"\.norm\.running\.\w+$|\.mixer\.random_features$")
_DYNAMICS = re.compile(r"\.mixer\.(bank\.\w+|Lambda_re|Lambda_im|log_decay|frequency|real|P)$")
_TIME_STEPS = re.compile(r"\.mixer\.(log_dt|log_step)$")
_INPUT = re.compile(r"\.mixer\.B$")
_READOUT = re.compile(r"\.mixer\.(C|C1|C2|D|W)$")


def label(path: str, optimizer: Optimizer) -> str:
    """The group of a parameter: `"frozen"`, `"states"`, `"slow"` or `"rest"`."""
    if FROZEN.search(path):
        return "frozen"
    if _DYNAMICS.search(path):
        return "states"
    if _TIME_STEPS.search(path):
        return "rest" if optimizer.dt_global else "states"
    if _INPUT.search(path):
        return {"B-decays": "slow", "B-fast": "rest"}.get(optimizer.groups, "states")
    if _READOUT.search(path):
        return "states" if optimizer.groups == "all-slow" else "rest"
    return "rest"


def labels(model: PyTree, optimizer: Optimizer) -> PyTree:
    """The group of every parameter of a model."""
    return jax.tree_util.tree_map_with_path(
        lambda path, _: label(jax.tree_util.keystr(path), optimizer), model
    )


def schedule(optimizer: Optimizer, steps: int, peak: float) -> optax.Schedule:
    """A straight rise to the peak over the warm-up, then a cosine to 0 at the last step."""
    warmup = optimizer.warmup
    rise = optax.linear_schedule(peak / (warmup + 1), peak, warmup) if warmup else None
    fall = optax.cosine_decay_schedule(peak, steps - warmup)
    return fall if rise is None else optax.join_schedules([rise, fall], [warmup])


def step(
    transformation: optax.GradientTransformation, gradient: T, moments: optax.OptState, model: T
) -> tuple[T, optax.OptState]:
    """The model after a step, and the optimizer's moments."""
    tree: Any = model  # optax knows no modules
    updates, moments = transformation.update(cast(Any, gradient), moments, tree)
    return cast(T, optax.apply_updates(tree, updates)), moments


def averaged(average: T, model: T, decay: float) -> T:
    """The moving average of models."""
    return jax.tree.map(lambda old, new: decay * old + (1 - decay) * new, average, model)


def transformation(optimizer: Optimizer, steps: int) -> optax.GradientTransformation:
    """What turns gradients into updates."""
    slow = schedule(optimizer, steps, optimizer.ssm_lr)
    fast = schedule(optimizer, steps, optimizer.lr)
    grouped = optax.multi_transform(
        {
            "frozen": optax.set_to_zero(),
            "states": optax.adam(slow),
            "slow": optax.adamw(slow, weight_decay=optimizer.weight_decay),
            "rest": optax.adamw(fast, weight_decay=optimizer.weight_decay),
        },
        lambda model: labels(model, optimizer),
    )
    if optimizer.clip == 0:
        return grouped
    return optax.chain(optax.clip_by_global_norm(optimizer.clip), grouped)
