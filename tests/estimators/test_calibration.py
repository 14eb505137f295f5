"""Temperature scaling and reliability."""

import numpy as np
import scipy.optimize
import scipy.special

from fractal.estimators import reliability
from fractal.estimators._calibration import fit_temperature, probabilities


def sample(rng, count, temperature):
    """Logits, and labels drawn from softmax(logits / temperature)."""
    logits = 3 * rng.normal(size=(count, 4))
    true = scipy.special.softmax(logits / temperature, axis=1)
    return logits, (rng.uniform(size=(count, 1)) > true.cumsum(axis=1)).sum(axis=1)


def test_the_temperature_is_that_of_the_maximum_likelihood(rng):
    logits, labels = sample(rng, 4000, 2.5)

    def cost(t):
        return -np.log(scipy.special.softmax(logits / t, axis=1)[np.arange(4000), labels]).sum()

    best = scipy.optimize.minimize_scalar(cost, bounds=(0.1, 10), method="bounded").x
    found = fit_temperature(logits, labels, np.ones(4000))
    assert abs(np.log(found / best)) < 0.06


def test_few_cases_hardly_change_the_temperature(rng):
    logits, labels = sample(rng, 4, 4.0)
    assert 0.7 < fit_temperature(logits, labels, np.ones(4)) < 1.6
    assert fit_temperature(logits[:0], labels[:0], np.ones(0)) == 1


def test_calibrated_probabilities_are_reliable_and_others_are_not(rng):
    logits, labels = sample(rng, 4000, 2.5)
    errors = []
    for temperature in (2.5, 1.0):
        found = probabilities(logits, temperature)
        correct = found.argmax(axis=1) == labels
        errors.append(reliability(found.max(axis=1), correct).error)
    assert errors[0] < 0.03 < 0.15 < errors[1]
