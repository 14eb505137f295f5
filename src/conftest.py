"""Which doctests are collected, and which are slow."""

import importlib.util

import pytest

# Examples that train until the model has learned something.
SLOW = ("fractal.estimators._classifier.FractalClassifier",
        "fractal.estimators._regressor.FractalRegressor")  # fmt: skip

# A package whose extra is not installed cannot be imported.
collect_ignore = [] if importlib.util.find_spec("torch") else ["fractal/torch"]


def pytest_collection_modifyitems(items):
    """Mark the slow examples."""
    for item in items:
        if item.name in SLOW:
            item.add_marker(pytest.mark.slow)
