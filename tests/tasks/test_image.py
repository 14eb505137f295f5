import json

import numpy as np
import pytest
from PIL import Image

from fractal.tasks import Batches, DataError, load
from fractal.tasks.image import SOURCES

NAMES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
EACH = 4


@pytest.fixture
def pictures(rng):
    return rng.integers(0, 256, (6, EACH, 32, 32, 3), np.uint8), rng.integers(0, 10, (6, EACH))


def write_binary(folder, pictures):
    folder.mkdir(parents=True, exist_ok=True)
    for name, images, labels in zip(NAMES, *pictures, strict=True):
        records = [
            bytes([label]) + image.transpose(2, 0, 1).tobytes()
            for image, label in zip(images, labels, strict=True)
        ]
        (folder / f"{name}.bin").write_bytes(b"".join(records))


def write_package(folder, pictures):
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = pictures
    for name, batch in zip(NAMES, images, strict=True):
        Image.fromarray(batch.reshape(EACH, 1024, 3)).save(folder / f"{name}.png")
    (folder / "train_lables.json").write_text(json.dumps(labels[:5].reshape(-1).tolist()))
    (folder / "test_lables.json").write_text(json.dumps(labels[5].tolist()))


@pytest.mark.parametrize("write", [write_binary, write_package])
def test_pixels_are_gray_and_normalized_as_published(cache, tmp_path, pictures, write):
    write(tmp_path, pictures)
    task = load("image", preset="paper", data=tmp_path)
    assert (task.length, task.inputs, task.outputs, task.tokens) == (1024, 1, 10, False)
    batch = Batches(task, task.splits.test, EACH, training=False)[0]
    colors = pictures[0][5].reshape(EACH, 1024, 3)
    gray = colors @ [0.299, 0.587, 0.114]
    expected = (gray / 255 - 122.6 / 255) / (61 / 255)
    np.testing.assert_allclose(batch.inputs[..., 0], expected, atol=0.6 / 61)  # a gray is whole
    assert batch.labels.tolist() == pictures[1][5].tolist()
    assert (batch.lengths == 1024).all()


def test_the_package_and_the_binary_version_give_the_same_task(cache, tmp_path, pictures):
    write_binary(tmp_path / "a" / "cifar-10-batches-bin", pictures)
    write_package(tmp_path / "b", pictures)
    one, two = (load("image", preset="paper", data=tmp_path / name) for name in "ab")
    for a, b in zip(one.splits, two.splits, strict=True):
        assert a.labels.tolist() == b.labels.tolist()
        for i in range(len(a)):
            np.testing.assert_array_equal(a.documents(i)[0], b.documents(i)[0])


def test_mini_has_means_of_four_pixels(cache, tmp_path, pictures):
    write_package(tmp_path, pictures)
    full, mini = (load("image", preset=preset, data=tmp_path) for preset in ("paper", "mini"))
    assert mini.length == 256
    fine = full.splits.test.documents(0)[0].reshape(32, 32).astype(float)
    coarse = mini.splits.test.documents(0)[0].reshape(16, 16)
    assert abs(coarse[3, 5] - fine[6:8, 10:12].mean()) <= 0.5


def cut(path, size=1000):
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize(
    ("write", "corrupt", "complaint"),
    [
        (write_binary, lambda f: cut(f / "data_batch_3.bin"), "data_batch_3.bin is truncated"),
        (write_binary, lambda f: (f / "data_batch_5.bin").unlink(), "data_batch_5.bin: No such"),
        (write_binary, lambda f: (f / "test_batch.bin").write_bytes(b"\x0b" + bytes(3072)),
         "test_batch.bin, image 1: the label must lie in 0 … 9, not 11"),
        (write_package, lambda f: cut(f / "data_batch_2.png"),
         "data_batch_2.png is not a complete PNG"),
        (write_package, lambda f: (f / "data_batch_2.png").write_bytes(b""),
         "data_batch_2.png is not a complete PNG"),
        (write_package, lambda f: (f / "test_lables.json").write_text("[1, 2"),
         "test_lables.json is not a list"),
        (write_package, lambda f: (f / "test_lables.json").write_text("[1, 2]"),
         "test_lables.json contains 2 labels for 4 images"),
        (write_package, lambda f: (f / "test_lables.json").write_text("[1, 2, 3, 10]"),
         "test_lables.json, image 4: the label"),
        (write_package, lambda f: (f / "test_lables.json").write_text("[1, 2, 3, -1]"),
         "test_lables.json is not a list"),
        (write_package, lambda f: Image.new("RGB", (32, 32)).save(f / "test_batch.png"),
         "test_batch.png has 32×32 pixels"),
    ],
)  # fmt: skip
def test_a_corrupted_file_is_named(cache, tmp_path, pictures, write, corrupt, complaint):
    write(tmp_path, pictures)
    corrupt(tmp_path)
    with pytest.raises(DataError, match=complaint):
        load("image", preset="paper", data=tmp_path)
    assert list(cache.glob("arrays/*")) == []


def test_the_pickled_version_is_not_opened(cache, tmp_path):
    (tmp_path / "cifar-10-batches-py").mkdir()
    with pytest.raises(DataError, match="may run code"):
        load("image", preset="paper", data=tmp_path)
    with pytest.raises(DataError, match=r"contains no cifar-10-batches-bin/test_batch\.bin"):
        load("image", preset="paper", data=tmp_path / "cifar-10-batches-py")


def test_cifar_has_the_published_sizes_and_the_normalized_pixels_mean_0_and_deviation_1(
    real_cache,
):
    if not SOURCES.package.folder.is_dir():
        pytest.skip("CIFAR-10 has not been fetched here: fractal data image")
    task = load("image", preset="paper")
    assert [len(split) for split in task.splits] == [45_000, 5_000, 10_000]
    pixels = task.splits.train.sequences.values
    assert abs(pixels.mean() - 122.62) < 0.02
    assert abs(pixels.std() - 60.99) < 0.02
    values = task.levels[pixels[: 1024 * 5000]]
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 1) < 0.02
    assert np.bincount(task.splits.test.labels).tolist() == [1000] * 10
