"""Trivial baselines: the most frequent class, and a logistic regression on counts of tokens."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from .._checks import check_type
from .._errors import UserError
from ..tasks import Split, Task

_STEPS = 300
PENALTY = 1e-4  # of the squared weights


def majority_class(task: Task) -> float:
    """Test accuracy of the class that is most frequent in the training set."""
    _check_classes(task)
    most = np.bincount(task.splits.train.labels, minlength=task.outputs).argmax()
    return float(np.mean(task.splits.test.labels == most))


def bag_of_tokens(task: Task) -> float:
    """Test accuracy of a logistic regression on how often each token, or gray level, occurs."""
    _check_classes(task)
    if not task.tokens and task.levels is None:
        raise UserError("real values have no counts: this baseline is for tokens", argument="task")
    train, test = (_counts(task, split) for split in (task.splits.train, task.splits.test))
    mean, deviation = train.mean(axis=0), train.std(axis=0) + 1e-6
    labels = np.asarray(task.splits.train.labels)
    slope, offset = logistic_regression((train - mean) / deviation, labels, task.outputs)
    outputs = ((test - mean) / deviation) @ slope + offset
    return float(np.mean(outputs.argmax(axis=1) == task.splits.test.labels))


def trivial_baselines(task: Task) -> dict[str, float]:
    """All trivial baselines that apply to a task, by name."""
    check_type("task", task, Task)
    if task.kind == "regression":
        mean = task.splits.train.labels.mean(axis=0)
        return {"mean_target": float(np.mean((task.splits.test.labels - mean) ** 2))}
    found = {"majority_class": majority_class(task)}
    if task.tokens or task.levels is not None:
        found["bag_of_tokens"] = bag_of_tokens(task)
    return found


def _check_classes(task: Task) -> None:
    check_type("task", task, Task)
    if task.kind == "regression":
        raise UserError("must have classes, not the targets of a regression", argument="task")


def _counts(task: Task, split: Split) -> Float[np.ndarray, "examples features"]:
    """log(1 + count) of every token or gray level, per document."""
    kinds = task.inputs if task.tokens else 256
    rows = [
        np.concatenate([np.bincount(one, minlength=kinds) for one in split.documents(i)])
        for i in range(len(split))
    ]
    return np.log1p(np.stack(rows)).astype(np.float32)


def logistic_regression(
    x: Float[np.ndarray, "examples features"], labels: np.ndarray, classes: int
) -> tuple[Float[np.ndarray, "features classes"], Float[np.ndarray, " classes"]]:
    """Weights and offsets of a multinomial logistic regression with an L2 penalty, by L-BFGS."""
    slope, offset = _solve(jnp.asarray(x), jnp.asarray(labels), classes)
    return np.asarray(slope), np.asarray(offset)


def _solve(x: Array, labels: Array, classes: int) -> tuple[Array, Array]:
    def loss(weights):
        slope, offset = weights
        losses = optax.softmax_cross_entropy_with_integer_labels(x @ slope + offset, labels)
        return losses.mean() + PENALTY * jnp.sum(slope**2)

    solver = optax.lbfgs()
    start = (jnp.zeros((x.shape[1], classes)), jnp.zeros(classes))

    @jax.jit
    def solve(weights):
        def step(_, carry):
            weights, opt_state = carry
            value, gradient = optax.value_and_grad_from_state(loss)(weights, state=opt_state)
            updates, opt_state = solver.update(
                gradient, opt_state, weights, value=value, grad=gradient, value_fn=loss
            )
            return optax.apply_updates(weights, updates), opt_state

        return jax.lax.fori_loop(0, _STEPS, step, (weights, solver.init(weights)))[0]

    return solve(start)
