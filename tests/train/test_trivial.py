"""Trivial baselines, against SciPy and closed forms."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from fractal import tasks
from fractal._errors import UserError
from fractal.train import bag_of_tokens, load_task, majority_class, trivial_baselines
from fractal.train._trivial import PENALTY, logistic_regression


def scipy_regression(x, labels, classes):
    """The same objective, minimized by SciPy in float64."""
    count, features = x.shape

    def loss(flat):
        slope, offset = flat[: features * classes].reshape(features, classes), flat[-classes:]
        outputs = x @ slope + offset
        logs = scipy.special.log_softmax(outputs, axis=1)
        rest = np.exp(logs)
        rest[np.arange(count), labels] -= 1
        gradient = np.concatenate(
            [(x.T @ rest / count + 2 * PENALTY * slope).ravel(), rest.mean(axis=0)]
        )
        value = -logs[np.arange(count), labels].mean() + PENALTY * np.sum(slope**2)
        return value, gradient

    start = np.zeros((features + 1) * classes)
    options = {"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9}
    found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    flat = found.x
    return flat[: features * classes].reshape(features, classes), flat[-classes:]


def test_the_logistic_regression_is_that_of_scipy(rng):
    x = rng.normal(size=(400, 6)).astype(np.float32)
    labels = (x @ rng.normal(size=(6, 3)) + rng.gumbel(size=(400, 3))).argmax(axis=1)
    slope, offset = logistic_regression(x, labels, 3)
    expected, intercept = scipy_regression(x.astype(float), labels, 3)
    np.testing.assert_allclose(slope, expected, atol=2e-3)
    # The offsets have no penalty: only their differences are determined.
    np.testing.assert_allclose(offset - offset.mean(), intercept - intercept.mean(), atol=2e-3)


def test_a_bag_of_tokens_is_scored_as_scipys_regression_on_counts(tiny):
    task = load_task(tiny)

    def features(split):
        rows = [
            np.bincount(split.documents(i)[0], minlength=task.inputs) for i in range(len(split))
        ]
        return np.log1p(np.stack(rows))

    train, test = features(task.splits.train), features(task.splits.test)
    mean, deviation = train.mean(axis=0), train.std(axis=0) + 1e-6
    slope, offset = scipy_regression(
        (train - mean) / deviation, np.asarray(task.splits.train.labels), task.outputs
    )
    outputs = (test - mean) / deviation @ slope + offset
    expected = np.mean(outputs.argmax(axis=1) == task.splits.test.labels)
    assert bag_of_tokens(task) == pytest.approx(expected, abs=2 / len(test))


def test_the_majority_class_is_that_of_the_training_set(tiny):
    task = load_task(tiny)
    most = np.argmax(np.bincount(np.asarray(task.splits.train.labels)))
    assert majority_class(task) == np.mean(np.asarray(task.splits.test.labels) == most)


def test_a_regression_is_compared_with_the_mean_of_its_targets(rng):
    targets = rng.normal(size=(50, 2))
    task = tasks.from_arrays(list(rng.normal(size=(50, 9, 3))), targets)
    known = np.asarray(task.splits.train.labels)
    expected = np.mean((np.asarray(task.splits.test.labels) - known.mean(axis=0)) ** 2)
    assert trivial_baselines(task) == {"mean_target": pytest.approx(expected)}
    with pytest.raises(UserError, match="task must have classes"):
        majority_class(task)


def test_real_values_have_no_bag_of_tokens(rng):
    task = tasks.from_arrays(list(rng.normal(size=(50, 9, 3))), rng.integers(2, size=50))
    assert list(trivial_baselines(task)) == ["majority_class"]
    with pytest.raises(UserError, match="for tokens"):
        bag_of_tokens(task)
