"""Settings and fixtures for all tests."""

import os
import shutil
import sys
import tempfile

import hypothesis
import numpy as np
import pytest

from compilation import XLA_FLAGS

# tests/test_optimized.py and `make test-slow` compile as users do.
os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)

# Tests repeat programs, such as a run and the same run resumed: each is compiled once. Every worker
# has its own cache, since JAX does not write entries atomically.
os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="fractal-tests-")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

import jax  # after the environment, which is read once

# Conversions and broadcasting of arrays must be explicit; users may set these options, too.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile("fractal", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("fractal")


def pytest_unconfigure():
    shutil.rmtree(os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)


# Files of a user's own, which register models and tasks when they are imported; and a program.
collect_ignore_glob = ["train/custom/*", "pytorch/compiled.py"]


@pytest.fixture(scope="module", autouse=True)
def registries():
    """What the tests of a module register, also through plugins, is removed after it."""
    from fractal import _weights
    from fractal.tasks import _registry
    from fractal.train import _models, _tasks

    registered = (_models._MODELS, _tasks._PRESETS, _registry._ENTRIES, _weights._registered)
    before = [dict(registry) for registry in registered]
    modules = set(sys.modules)
    yield
    for registry, entries in zip(registered, before, strict=True):
        registry.clear()
        registry.update(entries)
    for name in set(sys.modules) - modules:
        if name.startswith("fractal_plugin_"):
            del sys.modules[name]


@pytest.fixture
def rng():
    return np.random.default_rng(0)
