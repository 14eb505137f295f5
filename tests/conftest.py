"""Settings and fixtures for all tests."""

import os
import sys

import hypothesis
import numpy as np
import pytest

# The tests spend their time on compilation; without LLVM's costly passes it takes half of it.
# `make test-slow` compiles as users do.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)

hypothesis.settings.register_profile("fractal", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("fractal")


@pytest.fixture(scope="module", autouse=True)
def registries():
    """Models, tasks and classes that the tests of a module register are gone after it."""
    yield
    for module, name in (
        ("fractal.train._models", "_MODELS"),
        ("fractal.train._tasks", "_PRESETS"),
        ("fractal.tasks._registry", "_ENTRIES"),
        ("fractal._weights", "_registered"),
    ):
        if module in sys.modules:
            registry = getattr(sys.modules[module], name)
            kept = {key: value for key, value in registry.items() if _is_ours(value)}
            registry.clear()
            registry.update(kept)


def _is_ours(value):
    """Whether a registered entry belongs to the library."""
    source = getattr(value, "factory", getattr(value, "loader", value))
    return getattr(source, "__module__", "fractal.").startswith("fractal.")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
