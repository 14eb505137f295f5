import contextlib
import json

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from PIL import Image

from fractal.tasks import Batches, DataError, load
from fractal.tasks import pathfinder as module
from fractal.tasks.pathfinder import HARD, PathfinderSize, generate, read_metadata

SMALL = PathfinderSize(32, HARD, 60)


def write(level, labels, size=32, batches=1, rng=None):
    """A level in the official layout: text metadata with the extension of NumPy."""
    rng = rng or np.random.default_rng(0)
    pictures = rng.integers(0, 256, (len(labels), size, size), np.uint8)
    (level / "metadata").mkdir(parents=True)
    for batch, chosen in enumerate(np.array_split(np.arange(len(labels)), batches)):
        (level / "imgs" / str(batch)).mkdir(parents=True)
        lines = []
        for k, i in enumerate(chosen):
            Image.fromarray(pictures[i]).save(level / "imgs" / str(batch) / f"sample_{k}.png")
            lines.append(f"imgs/{batch} sample_{k}.png {k} {labels[i]} 1.8 14 4 5 1.5 2 1\n")
        (level / "metadata" / f"{batch}.npy").write_text("".join(lines))
    return pictures


def stored(task):
    """All pictures of a task in the order of the files."""
    sequences = task.splits.train.sequences
    return sequences.values.reshape(len(sequences), -1), sequences.labels


@pytest.mark.parametrize("root", [".", "lra_release", "lra_release/lra_release"])
def test_the_official_layout_is_read_exactly_batches_in_numeric_order(cache, tmp_path, root):
    labels = [i * i % 3 % 2 for i in range(24)]
    pictures = write(tmp_path / root / "pathfinder32" / HARD, labels, batches=12)  # 10 after 9
    task = load("pathfinder", preset="paper", data=tmp_path)
    assert (task.length, task.inputs, task.outputs) == (1024, 1, 2)
    pixels, found = stored(task)
    np.testing.assert_array_equal(pixels, pictures.reshape(24, -1))
    assert found.tolist() == labels


def test_pathx_reads_128_pixels_and_values_lie_in_minus_1_to_1(cache, tmp_path):
    pictures = write(tmp_path / "pathfinder128" / HARD, [0, 1] * 10, size=128)
    task = load("pathx", preset="paper", data=tmp_path)
    assert task.length == 16_384
    row = task.splits.test.rows[0]
    batch = Batches(task, task.splits.test, 2, training=False)[0]
    expected = (pictures[row].reshape(-1) / 255 - 0.5) / 0.5
    np.testing.assert_allclose(batch.inputs[0, :, 0], expected, atol=1e-6)


def test_the_splits_are_disjoint_80_10_10(cache, tmp_path):
    write(tmp_path / "pathfinder32" / HARD, [0, 1] * 50)
    splits = load("pathfinder", preset="paper", data=tmp_path).splits
    assert [len(split) for split in splits] == [80, 10, 10]
    assert sorted(np.concatenate([split.rows for split in splits])) == list(range(100))


def test_true_numpy_metadata_and_float_labels_are_read_as_well(cache, tmp_path):
    level = tmp_path / "pathfinder32" / HARD
    write(level, [1, 0] * 10)
    lines = (level / "metadata" / "0.npy").read_text().splitlines()
    table = np.array([line.split() for line in lines])
    table[0, 3] = "1.0"
    np.save(level / "metadata" / "0.npy", table)
    assert stored(load("pathfinder", preset="paper", data=tmp_path))[1].tolist() == [1, 0] * 10


def test_pickled_metadata_is_not_opened(cache, tmp_path):
    level = tmp_path / "pathfinder32" / HARD
    write(level, [1, 0])
    np.save(level / "metadata" / "0.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(
        DataError, match=r"0\.npy is a corrupted NumPy file, or one of Python objects"
    ):
        load("pathfinder", preset="paper", data=tmp_path)


def test_the_one_empty_image_of_the_release_is_skipped(cache, tmp_path):
    level = tmp_path / "pathfinder32" / "curv_baseline"
    write(level, [0, 1] * 100)
    (level / "imgs" / "0" / "sample_172.png").write_bytes(b"")
    assert len(read_metadata(level)) == 199
    assert all(path.name != "sample_172.png" for path, _ in read_metadata(level))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("imgs/0 sample_0.png 0\n", "line 21: 11 columns expected, 3 found"),
        ("\n", "line 21: 11 columns expected, 0 found"),
        ("imgs/0 sample_0.png 0 2 1 1 1 1 1 1 1\n", "line 21: the label must lie in 0 … 1"),
        ("imgs/0 sample_0.png 0 x 1 1 1 1 1 1 1\n", "line 21: the label must be a number"),
        ("../.. passwd 0 1 1 1 1 1 1 1 1\n", "line 21: .* is outside of the folder"),
        ("/etc passwd 0 1 1 1 1 1 1 1 1\n", "line 21: .* is outside of the folder"),
        ("imgs/0 sample_99.png 0 1 1 1 1 1 1 1 1\n", r"sample_99\.png: No such file"),
    ],
)
def test_a_corrupted_line_is_named(cache, tmp_path, line, complaint):
    level = tmp_path / "pathfinder32" / HARD
    write(level, [0, 1] * 10)
    with open(level / "metadata" / "0.npy", "a") as file:
        file.write(line)
    with pytest.raises(DataError, match=complaint):
        load("pathfinder", preset="paper", data=tmp_path)


def test_a_truncated_or_empty_or_wrong_image_is_named(cache, tmp_path):
    level = tmp_path / "pathfinder32" / HARD
    write(level, [0, 1] * 10)
    picture = level / "imgs" / "0" / "sample_7.png"
    whole = picture.read_bytes()
    for corrupted in (whole[: len(whole) // 2], whole[:20], b"", b"GIF89a", whole[:-20]):
        picture.write_bytes(corrupted)
        with pytest.raises(DataError, match=r"sample_7\.png is not a complete PNG"):
            load("pathfinder", preset="paper", data=tmp_path)
    Image.new("L", (64, 64)).save(picture)
    with pytest.raises(DataError, match=r"sample_7\.png has 64×64 pixels, not 32×32"):
        load("pathfinder", preset="paper", data=tmp_path)
    assert list(cache.glob("arrays/*")) == []


def test_missing_folders_are_named_with_what_to_do(cache, tmp_path):
    with pytest.raises(DataError, match="fractal data pathfinder --out DIR"):
        load("pathfinder", preset="paper")
    with pytest.raises(DataError, match=r"^data: .* contains no pathfinder128/"):
        load("pathx", preset="paper", data=tmp_path)
    (tmp_path / "pathfinder32" / HARD / "metadata").mkdir(parents=True)
    with pytest.raises(DataError, match=r"metadata contains no \.npy"):
        load("pathfinder", preset="paper", data=tmp_path)
    (tmp_path / "pathfinder32" / HARD / "metadata" / "x.npy").touch()
    with pytest.raises(DataError, match=r"x\.npy: the name must be a number"):
        load("pathfinder", preset="paper", data=tmp_path)


@hypothesis.given(st.binary(max_size=200), st.booleans())
def test_arbitrary_bytes_raise_data_errors_only(tmp_path_factory, data, array):
    folder = tmp_path_factory.mktemp("any")
    (folder / "metadata").mkdir()
    (folder / "metadata" / "0.npy").write_bytes(b"\x93NUMPY" + data if array else data)
    with contextlib.suppress(DataError):
        read_metadata(folder)


def test_one_and_two_workers_write_the_same_bytes(tmp_path):
    folders = [
        generate(tmp_path / str(workers), SMALL, seed=5, workers=workers) for workers in (1, 2)
    ]
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
        for folder in folders
    )
    assert one == two
    assert len(one) == 62


def test_what_is_generated_is_read_back_and_balanced(cache, tmp_path):
    level = generate(tmp_path, SMALL, seed=0, workers=1)
    assert level == tmp_path / "pathfinder32" / HARD
    first = (level / "metadata" / "0.npy").read_text().splitlines()[0].split()
    assert first[:3] == ["imgs/0", "sample_0.png", "0"]
    assert first[4:] == ["1.0", "14", "4", "2", "0.5", "1", "1"]
    pixels, labels = stored(load("pathfinder", preset="paper", data=tmp_path))
    assert labels.mean() == 0.5
    assert pixels.min() == 0
    assert (pixels.max(axis=1) == 255).all()


@pytest.mark.parametrize("variant", ["published", "unbiased"])
def test_generated_levels_record_how_they_were_generated(tmp_path, variant):
    few = SMALL._replace(examples=10)
    level = generate(tmp_path, few, seed=3, workers=1, unbiased=variant == "unbiased")
    record = json.loads((level / "generator.json").read_text())
    assert record.pop("generator") == "fractal"
    assert record.pop("variant") == variant
    assert record == {"resolution": 32, "level": HARD, "examples": 10, "seed": 3}


def test_full_batches_begin_new_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BATCH", 25)
    level = generate(tmp_path, SMALL, seed=0, workers=1)
    counts = [len(list((level / "imgs" / str(k)).iterdir())) for k in range(3)]
    assert counts == [25, 25, 10]
    assert len(read_metadata(level)) == 60


def test_generating_never_overwrites(tmp_path):
    (tmp_path / "pathfinder32" / HARD).mkdir(parents=True)
    with pytest.raises(DataError, match=r"^out: .* already exists"):
        generate(tmp_path, SMALL, seed=0, workers=1)
    with pytest.raises(
        ValueError, match=r"^count must be an integer of at least 10 for three splits, got 9"
    ):
        generate(tmp_path / "few", SMALL._replace(examples=9), seed=0, workers=1)


@pytest.mark.parametrize(
    ("name", "sizes", "length"), [("pathfinder", "PATHFINDER", 1024), ("pathx", "PATHX", 4096)]
)
def test_mini_is_generated(cache, monkeypatch, name, sizes, length):
    mini = getattr(module, sizes)["mini"]._replace(examples=20)
    monkeypatch.setitem(getattr(module, sizes), "mini", mini)
    task = load(name, preset="mini")
    assert task.length == length
    assert [len(split) for split in task.splits] == [16, 2, 2]
