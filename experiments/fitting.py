"""Training of small models on batches that are drawn anew in every step."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
import optax

from fractal.nn import roles

M = TypeVar("M")
_KEPT = 50  # points of a learning curve
_SLOW = ("dynamics", "step_size", "input")


def fitted(
    net: M,
    draw: Callable[[np.random.Generator], tuple],
    loss: Callable[..., jax.Array],
    steps: int,
    seed: int,
    lr: float = 3e-3,
    ssm_lr: float = 1e-3,
) -> tuple[M, list[list[float]]]:
    """A trained model, and its learning curve [step, mean loss since the last point].

    **Arguments:**

    - `draw`: a batch, from a generator of random numbers.
    - `loss`: mean loss, `loss(net, *batch)`.
    - `lr`, `ssm_lr`: peak learning rates of Adam; the second one for eigenvalues, Δ and B.
    """
    optimizer = _optimizer(steps, lr, ssm_lr)

    @eqx.filter_jit
    def train_step(net: Any, opt_state: Any, batch: tuple) -> tuple[Any, Any, jax.Array]:
        trained, rest = eqx.partition(net, eqx.is_inexact_array)
        value, gradient = jax.value_and_grad(lambda t: loss(eqx.combine(t, rest), *batch))(trained)
        with jax.numpy_dtype_promotion("standard"):  # optax computes decay**step, step an integer
            updates, opt_state = optimizer.update(gradient, opt_state, trained)
        return eqx.combine(optax.apply_updates(trained, updates), rest), opt_state, value

    rng = np.random.default_rng([seed, 0])
    opt_state = optimizer.init(eqx.filter(net, eqx.is_inexact_array))
    losses = []
    for _ in range(steps):
        net, opt_state, value = train_step(net, opt_state, draw(rng))
        losses.append(value)
    parts = np.array_split(np.asarray(losses), min(_KEPT, steps))
    ends = np.cumsum([len(part) for part in parts])
    curve = [[int(e), round(float(p.mean()), 4)] for e, p in zip(ends, parts, strict=True)]
    return net, curve


def _optimizer(steps: int, lr: float, ssm_lr: float) -> optax.GradientTransformation:
    """Adam with two learning rates, linear warmup, cosine decay and clipped gradients."""
    each = {
        name: optax.adam(optax.warmup_cosine_decay_schedule(0.0, peak, max(1, steps // 10), steps))
        for name, peak in (("fast", lr), ("slow", ssm_lr))
    }
    grouped = optax.multi_transform(
        each,
        lambda net: jax.tree.map(lambda role: "slow" if role in _SLOW else "fast", roles(net)),
    )
    return optax.chain(optax.clip_by_global_norm(1.0), grouped)
