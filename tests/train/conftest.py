import dataclasses
import pathlib

import pytest

from fractal.tasks.listops import SIZES, generate
from fractal.train import Config, DataConfig, ModelConfig, OptimizerConfig


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
