import gzip
import struct

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from fractal.tasks import Batches, DataError, load
from fractal.tasks.smnist import SOURCES, read_idx

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte",
         "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")  # fmt: skip


def idx(array):
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def digits(rng):
    images = rng.integers(0, 256, (30, 28, 28), np.uint8)
    labels = (np.arange(30) % 10).astype(np.uint8)
    return images[:20], labels[:20], images[20:], labels[20:]


def write(folder, digits, spelled=lambda name: name, packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(FILES, digits, strict=True):
        data, name = idx(array), spelled(name)
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(data) if packed else data)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("place", [".", "MNIST/raw"])
def test_idx_files_are_found_packed_or_not_and_read_exactly(cache, tmp_path, digits, packed, place):
    write(tmp_path / place, digits, packed=packed)
    task = load("smnist", preset="paper", data=tmp_path)
    assert (task.length, task.inputs, task.outputs) == (784, 1, 10)
    assert [len(split) for split in task.splits] == [18, 2, 10]
    batch = Batches(task, task.splits.test, 10, training=False)[0]
    np.testing.assert_allclose(batch.inputs[..., 0], digits[2].reshape(10, 784) / 255, rtol=1e-6)
    assert batch.labels.tolist() == digits[3].tolist()


def test_names_with_a_dot_are_found(cache, tmp_path, digits):
    write(tmp_path, digits, spelled=lambda name: name.replace("-idx", ".idx"))
    assert len(load("smnist", preset="paper", data=tmp_path).splits.test) == 10


def test_permuted_pixels_are_the_same_ones_in_one_fixed_other_order(cache, tmp_path, digits):
    write(tmp_path, digits)
    plain, permuted = (
        load(name, preset="paper", data=tmp_path).splits.test for name in ("smnist", "psmnist")
    )
    before = np.stack([plain.documents(i)[0] for i in range(10)])
    after = np.stack([permuted.documents(i)[0] for i in range(10)])
    columns = {tuple(column): place for place, column in enumerate(before.T)}
    order = [columns[tuple(column)] for column in after.T]
    assert sorted(order) == list(range(784))
    assert order != list(range(784))


def test_mini_has_means_of_four_pixels(cache, tmp_path, digits):
    write(tmp_path, digits)
    task = load("smnist", preset="mini", data=tmp_path)
    assert task.length == 196
    coarse = task.splits.test.documents(0)[0].reshape(14, 14)
    assert abs(coarse[2, 9] - digits[2][0][4:6, 18:20].mean()) <= 0.5


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (FILES[0], idx(np.zeros((20, 28, 28), np.uint8))[:-1], "truncated or too long"),
        (FILES[0], idx(np.zeros((20, 28, 28), np.uint8)) + b"\0", "truncated or too long"),
        (FILES[0], b"", "not an idx file"),
        (FILES[0], idx(np.zeros((20, 27, 28), np.uint8)), "27×28 pixels"),
        (FILES[1], idx(np.zeros(19, np.uint8)), "19 labels for 20 images"),
        (FILES[1], idx(np.full(20, 10, np.uint8)), "label 1: it must lie in 0 … 9"),
        (FILES[1], idx(np.zeros((20, 1), np.uint8)), "not an idx file of bytes with 1 axes"),
    ],
)
def test_a_corrupted_file_is_named(cache, tmp_path, digits, name, content, complaint):
    write(tmp_path, digits)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}.*{complaint}"):
        load("smnist", preset="paper", data=tmp_path)


def test_a_truncated_gzip_file_is_named(cache, tmp_path, digits):
    write(tmp_path, digits, packed=True)
    path = tmp_path / f"{FILES[2]}.gz"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte\.gz is not a complete gzip"):
        load("smnist", preset="paper", data=tmp_path)
    path.unlink()
    with pytest.raises(DataError, match="contains no t10k-images-idx3-ubyte"):
        load("smnist", preset="paper", data=tmp_path)


@hypothesis.given(st.binary(max_size=40), st.sampled_from(["", ".gz"]), st.booleans())
def test_arbitrary_bytes_raise_data_errors_only(tmp_path_factory, data, suffix, headed):
    path = tmp_path_factory.mktemp("any") / f"file{suffix}"
    path.write_bytes(b"\0\0\x08\x01" + data if headed else data)
    try:
        array = read_idx(path, 1)
    except DataError:
        return
    assert array.tobytes() == data[4:]


def test_mnist_has_the_published_sizes(real_cache):
    if not SOURCES.package.folder.is_dir():
        pytest.skip("MNIST has not been fetched here: fractal data smnist")
    task = load("smnist", preset="paper")
    assert [len(split) for split in task.splits] == [54_000, 6_000, 10_000]
    pixels = task.splits.train.sequences.values
    assert abs(pixels.mean() / 255 - 0.1307) < 1e-4  # the constants that everyone normalizes by
    assert abs(pixels.std() / 255 - 0.3081) < 1e-4
