import pathlib

import pytest

from fractal.tasks._folders import cache_folder

REAL_CACHE = cache_folder()


@pytest.fixture
def cache(tmp_path, monkeypatch) -> pathlib.Path:
    """An empty cache of the test's own."""
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def real_cache(monkeypatch) -> pathlib.Path:
    """The user's own cache, where real data may be."""
    monkeypatch.setenv("FRACTAL_DATA", str(REAL_CACHE))
    return REAL_CACHE
