"""What a score must beat: the most frequent class, and a bag of tokens."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ..tasks import Split, Task

_STEPS = 300
_PENALTY = 1e-4


def majority(task: Task) -> float:
    """Test accuracy of the class that is most frequent in training."""
    most = np.bincount(task.splits.train.labels, minlength=task.outputs).argmax()
    return float(np.mean(task.splits.test.labels == most))


def bag_of_tokens(task: Task) -> float:
    """Test accuracy of a logistic regression on how often each token, or gray level, occurs."""
    train, test = (_counts(task, split) for split in (task.splits.train, task.splits.test))
    mean, deviation = train.mean(axis=0), train.std(axis=0) + 1e-6
    weights = _regression(
        jnp.asarray((train - mean) / deviation), jnp.asarray(task.splits.train.labels), task.outputs
    )
    answers = ((test - mean) / deviation) @ np.asarray(weights[0]) + np.asarray(weights[1])
    return float(np.mean(answers.argmax(axis=1) == task.splits.test.labels))


def _counts(task: Task, split: Split) -> Float[np.ndarray, "examples features"]:
    """log(1 + count) of everything that can occur, for each document."""
    kinds = task.inputs if task.tokens else 256
    rows = [
        np.concatenate([np.bincount(one, minlength=kinds) for one in split.documents(i)])
        for i in range(len(split))
    ]
    return np.log1p(np.stack(rows)).astype(np.float32)


def _regression(x: Array, labels: Array, classes: int) -> tuple[Array, Array]:
    """By L-BFGS, with a little weight decay."""

    def loss(weights):
        slope, offset = weights
        losses = optax.softmax_cross_entropy_with_integer_labels(x @ slope + offset, labels)
        return losses.mean() + _PENALTY * jnp.sum(slope**2)

    solver = optax.lbfgs()
    start = (jnp.zeros((x.shape[1], classes)), jnp.zeros(classes))

    @jax.jit
    def solve(weights):
        def step(_, carry):
            weights, memory = carry
            value, gradient = optax.value_and_grad_from_state(loss)(weights, state=memory)
            updates, memory = solver.update(
                gradient, memory, weights, value=value, grad=gradient, value_fn=loss
            )
            return optax.apply_updates(weights, updates), memory

        return jax.lax.fori_loop(0, _STEPS, step, (weights, solver.init(weights)))[0]

    return solve(start)
