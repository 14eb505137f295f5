"""Settings and fixtures for all tests."""

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("fractal", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("fractal")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
