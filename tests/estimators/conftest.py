import numpy as np
import pytest

from fractal.estimators import FractalClassifier

TINY = {"width": 4, "depth": 1, "order": 2, "max_epochs": 2, "random_state": 0}
SIZES = {"width": 8, "depth": 1, "order": 4}  # one for several tests: fewer compilations


@pytest.fixture(scope="session")
def waves():
    """Slow and fast waves of unequal lengths, which are padded to one: few compilations."""
    rng = np.random.default_rng(0)
    y = np.array(["slow", "fast"] * 16)
    X = [
        np.sin((0.1 if name == "slow" else 0.6) * np.arange(rng.integers(32, 60)))
        + 0.1 * rng.normal(size=1)
        for name in y
    ]
    return X, y


@pytest.fixture(scope="session")
def fitted(waves):
    """A classifier that has learned the waves."""
    return FractalClassifier(width=8, depth=1, order=4, max_epochs=15, random_state=0).fit(*waves)
