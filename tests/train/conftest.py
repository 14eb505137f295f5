import dataclasses
import pathlib
import sys

import pytest

from fractal import _weights
from fractal.tasks import _registry
from fractal.tasks.listops import SIZES, generate
from fractal.train import Config, DataConfig, ModelConfig, OptimizerConfig, _models, _tasks


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> pathlib.Path:
    """Some hundred expressions of mini ListOps."""
    folder = tmp_path_factory.mktemp("data") / "listops"
    generate(folder, SIZES["mini"]._replace(examples=500), seed=0, workers=1)
    return folder


@pytest.fixture
def tiny(folder, tmp_path_factory, monkeypatch) -> Config:
    """A run of seconds."""
    cache = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("FRACTAL_DATA", str(cache))
    return Config(
        data=DataConfig("listops", folder=str(folder), batch=8),
        model=ModelConfig(width=8, depth=1, bidirectional=False, dropout=0.1, options={"order": 2}),
        optimizer=OptimizerConfig(lr=1e-2, warmup=2),
        steps=24,
        evaluate_every=8,
        checkpoint_every=6,
        log_every=4,
    )


@pytest.fixture
def batch_normed(tiny) -> Config:
    model = dataclasses.replace(tiny.model, norm="batch")
    return dataclasses.replace(tiny, model=model)


@pytest.fixture(scope="module")
def own_registrations():
    """Registrations of one module of tests only: other tests count models and tasks."""
    registries = (_models._MODELS, _tasks._PRESETS, _registry._ENTRIES, _weights._registered)
    before = [dict(registry) for registry in registries]
    modules = set(sys.modules)
    yield
    for registry, old in zip(registries, before, strict=True):
        registry.clear()
        registry.update(old)
    for name in set(sys.modules) - modules:
        if name.startswith("fractal_plugin_"):
            del sys.modules[name]
