import sys
import types

import numpy as np
import pytest
from PIL import Image

from fractal.tasks import DataError, fetch, load, smnist
from fractal.tasks._errors import Unavailable


def hub(monkeypatch, **repositories):
    """The part of Hugging Face's `datasets` that we call."""
    module = types.ModuleType("datasets")

    def load_dataset(name):
        if name not in repositories:
            raise ConnectionError("no\nnetwork")
        return repositories[name]

    module.load_dataset = load_dataset
    module.config = types.SimpleNamespace(HF_HUB_OFFLINE=True, HF_ENDPOINT="http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "datasets", module)


def test_the_hub_gives_the_same_tasks_as_files(cache, monkeypatch, rng):
    colors = rng.integers(0, 256, (40, 32, 32, 3), np.uint8)
    grays = rng.integers(0, 256, (40, 28, 28), np.uint8)
    rows = [
        {
            "img": Image.fromarray(colors[i]),
            "image": Image.fromarray(grays[i]),
            "text": f"review {i}",
            "label": i % 2,
        }
        for i in range(40)
    ]
    parts = {"train": rows[:30], "test": rows[30:]}
    names = {"uoft-cs/cifar10": parts, "ylecun/mnist": parts}
    hub(monkeypatch, **names, **{"stanfordnlp/imdb": {"train": rows[:20], "test": rows[20:]}})
    for name in ("image", "smnist", "text"):
        assert fetch(name, source="hub") == fetch(name)
    task = load("image", preset="paper")
    assert [len(split) for split in task.splits] == [27, 3, 10]
    gray = np.asarray(Image.fromarray(colors[30]).convert("L")).reshape(-1)
    np.testing.assert_array_equal(task.splits.test.documents(0)[0], gray)
    assert task.splits.test.labels.tolist() == [0, 1] * 5
    task = load("smnist", preset="paper")
    np.testing.assert_array_equal(task.splits.test.documents(3)[0], grays[33].reshape(-1))
    task = load("text", preset="paper", validation="test")
    assert task.splits.test.labels.tolist() == [0] * 10 + [1] * 10


def test_a_hub_that_fails_or_is_not_installed_is_one_line(cache, monkeypatch):
    hub(monkeypatch)
    with pytest.raises(DataError, match=r"cannot load ylecun/mnist \(no network\)"):
        smnist.SOURCES.fetch("hub")
    sys.modules["datasets"].config.HF_HUB_OFFLINE = False
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(DataError, match=r"cannot reach 127\.0\.0\.1"):
        smnist.SOURCES.fetch("hub")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"pip install 'fractal-ssm\[hub\]'"):
        smnist.SOURCES.fetch("hub")
    assert list(cache.rglob("*")) == []


def test_errors_of_the_hubs_package_are_one_line(cache, monkeypatch):
    class DatasetsError(Exception):
        pass

    def load_dataset(name):
        raise DatasetsError("a\nb")

    hub(monkeypatch)
    sys.modules["datasets"].exceptions = types.SimpleNamespace(DatasetsError=DatasetsError)
    sys.modules["datasets"].load_dataset = load_dataset
    with pytest.raises(Unavailable, match=r"cannot load ylecun/mnist \(a b\)"):
        smnist.SOURCES.fetch("hub")
