"""Pathfinder and Path-X: whether two discs lie on one contour (two classes).

The official layout is `pathfinder<size>/<level>/imgs/<batch>/sample_<k>.png`, and for each batch a
text file `metadata/<batch>.npy` with one line per image. Generated levels also have a file
`generator.json`, which says how they were generated.
"""

import dataclasses
import functools
import io
import itertools
import json
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from .._checks import check_count, check_seed
from .._progress import progress
from ._archives import is_inside
from ._errors import DataError, MissingData
from ._folders import (
    cache_folder,
    check_new,
    check_space,
    listing_hash,
    reading,
    short_hash,
    staged,
)
from ._images import levels, pillow, read_gray
from ._layout import find
from ._parallel import parallel_map
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared
from ._snakes import Geometry, draw, geometry
from ._tables import Line, read_words, shown
from ._task import Split, Splits, Task, check_own_validation, pixel_task, portions

HARD = "curv_contour_length_14"
_BATCH = 1000  # images per folder, as in the official release
_EMPTY = ("pathfinder32", "curv_baseline", "imgs/0", "sample_172.png")  # in the official release
_COLUMNS, _LABEL = 11, 3
_NUMPY = b"\x93NUMPY"
_CHUNK = 20  # images per call of a worker
_FEWEST = 10
_BYTES_EACH = 4096  # images are smaller, but files take whole blocks of a disk
_LEVELS = levels(mean=0.5, deviation=0.5)
_SHARES = (0.8, 0.1, 0.1)  # of training, validation, test
_GENERATED, _GENERATED_PATHX = ("mini", "laptop"), ("mini",)  # presets, without being asked to


class PathfinderSize(NamedTuple):
    """Pixels per side, level of difficulty, and number of generated images."""

    resolution: int
    level: str
    examples: int


PATHFINDER = {
    "paper": PathfinderSize(32, HARD, 200_000),
    "laptop": PathfinderSize(32, HARD, 200_000),
    "mini": PathfinderSize(32, "curv_baseline", 6_000),
}
STAGES = {  # of a curriculum: fewer paddles per contour
    name: {
        "paper": PathfinderSize(32, level, 200_000),
        "laptop": PathfinderSize(32, level, 40_000),
        "mini": PathfinderSize(32, level, 6_000),
    }
    for name, level in (
        ("pathfinder_6", "curv_baseline"),
        ("pathfinder_9", "curv_contour_length_9"),
    )
}
PATHX = {
    "paper": PathfinderSize(128, HARD, 200_000),
    "laptop": PathfinderSize(128, HARD, 200_000),
    "mini": PathfinderSize(64, "curv_baseline", 2_000),
}


def generate(
    out: pathlib.Path, size: PathfinderSize, seed: int, workers: int, unbiased: bool = False
) -> pathlib.Path:
    """Write the new folder `out`/pathfinder<size>/<level> and return it; classes are balanced.

    The images are distributed as those of the published generator, or, if `unbiased`, without its
    preference for some directions.
    """
    target = out / f"pathfinder{size.resolution}" / size.level
    check_new(target)
    count = check_count("count", size.examples, _FEWEST, why=" for three splits")
    shape = geometry(size.resolution, size.level, unbiased)
    check_space(out, count, _BYTES_EACH)
    labels = np.random.default_rng(check_seed(seed)).permutation(np.arange(count) % 2).tolist()
    numbered = list(enumerate(labels))
    chunks = [numbered[i : i + _CHUNK] for i in range(0, count, _CHUNK)]
    draw_chunk = functools.partial(_drawn, shape, seed)
    with parallel_map(draw_chunk, chunks, workers) as chunked, staged(target) as folder:
        drawn = progress(itertools.chain.from_iterable(chunked), f"drawing {target}", count)
        (folder / "metadata").mkdir()
        _write_record(folder, size, seed, unbiased)
        for batch, images in enumerate(_batched(drawn, _BATCH)):
            _write_batch(folder, batch, shape, images)
    return target


def _write_record(folder: pathlib.Path, size: PathfinderSize, seed: int, unbiased: bool) -> None:
    variant = "unbiased" if unbiased else "published"
    record = {"generator": "fractal", "variant": variant, **size._asdict(), "seed": seed}
    (folder / "generator.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


class _Image(NamedTuple):
    png: bytes
    label: int
    margin: int


def _drawn(shape: Geometry, seed: int, numbered: list[tuple[int, int]]) -> list[_Image]:
    """Images by number and label; each has its own random stream."""
    images = []
    for number, label in numbered:
        drawing = draw(shape, label, np.random.default_rng([seed, number]))
        png = io.BytesIO()
        pillow().fromarray(drawing.image).save(png, "PNG")
        images.append(_Image(png.getvalue(), label, drawing.margin))
    return images


def _batched(images: Iterator[_Image], size: int) -> Iterator[list[_Image]]:
    while batch := list(itertools.islice(images, size)):
        yield batch


def _write_batch(folder: pathlib.Path, batch: int, shape: Geometry, images: list[_Image]) -> None:
    subpath = f"imgs/{batch}"
    (folder / subpath).mkdir(parents=True)
    lines = []
    for number, image in enumerate(images):
        name = f"sample_{number}.png"
        (folder / subpath / name).write_bytes(image.png)
        lines.append(
            f"{subpath} {name} {number} {image.label} {shape.continuity} "
            f"{shape.contour_length} {shape.distractor_length} {shape.paddle_length} "
            f"{shape.thickness} {image.margin} 1\n"
        )
    (folder / "metadata" / f"{batch}.npy").write_text("".join(lines), encoding="utf-8")


def load(request: Request) -> Task:
    """32 × 32 pixels in [−1, 1], row by row."""
    return _load("pathfinder", PATHFINDER[request.preset], request)


def load_pathx(request: Request) -> Task:
    """128 × 128 pixels in [−1, 1], row by row; 64 × 64 for `mini`."""
    return _load("pathx", PATHX[request.preset], request)


def load_6(request: Request) -> Task:
    """Pathfinder with contours of 6 paddles."""
    return _load("pathfinder_6", STAGES["pathfinder_6"][request.preset], request)


def load_9(request: Request) -> Task:
    """Pathfinder with contours of 9 paddles."""
    return _load("pathfinder_9", STAGES["pathfinder_9"][request.preset], request)


def _load(name: str, size: PathfinderSize, request: Request) -> Task:
    check_own_validation(request.validation)
    folder = _located(name, size, request)
    images = read_metadata(folder)
    arrays = prepared(
        name,
        {
            "source": listing_hash(path for path, _ in images),
            "labels": short_hash(labels=[label for _, label in images]),
        },
        lambda: Built((), {"all": _examples(images, size.resolution)}),
    )
    splits = [Split(arrays.parts["all"], rows) for rows in portions(len(images), _SHARES)]
    return pixel_task(name, size.resolution**2, 2, _LEVELS, Splits(*splits))


def _located(name: str, size: PathfinderSize, request: Request) -> pathlib.Path:
    place = f"pathfinder{size.resolution}/{size.level}"
    if request.data is not None:
        places = (place,) if name in STAGES else (place, "")
        return find(request.data, places, "metadata")
    if request.preset not in (_GENERATED_PATHX if name == "pathx" else _GENERATED):
        raise MissingData("pathfinder" if name in STAGES else name, "generate")
    made = short_hash(shape=dataclasses.asdict(geometry(size.resolution, size.level)), size=size)
    out = cache_folder() / "generated" / f"{name}-{request.preset}-{made}"
    if not (out / place).is_dir():
        generate(out, size, seed=0, workers=request.workers)
    return out / place


def read_images(
    folder: pathlib.Path, resolution: int, count: int
) -> tuple[UInt8[np.ndarray, "count rows columns"], list[int]]:
    """The first images of a level, and their labels."""
    listed = read_metadata(folder)[:count]
    pixels = [read_gray(path, resolution, resolution) for path, _ in listed]
    return np.stack(pixels), [label for _, label in listed]


def read_metadata(folder: pathlib.Path) -> list[tuple[pathlib.Path, int]]:
    """The paths and labels of all images of a level, by batch and line."""
    batches = sorted((folder / "metadata").glob("*.npy"), key=_number)
    if not batches:
        raise DataError(f"{folder / 'metadata'} contains no .npy files")
    return [image for path in batches for image in _listed(folder, path)]


def _number(path: pathlib.Path) -> int:
    if not (path.stem.isascii() and path.stem.isdigit()):
        raise DataError(f"{path}: the name must be a number")
    return int(path.stem)


def _listed(folder: pathlib.Path, metadata: pathlib.Path) -> Iterator[tuple[pathlib.Path, int]]:
    for line in _metadata_lines(metadata):
        if len(line.fields) < _LABEL + 1:
            raise line.error(f"{_COLUMNS} columns expected, {len(line.fields)} found")
        subpath, name = line.fields[:2]
        if not is_inside(f"{subpath}/{name}"):
            raise line.error(f"{shown(f'{subpath}/{name}')} is outside of the folder")
        label = line.label(line.fields[_LABEL], 2)
        if (*folder.parts[-2:], subpath, name) != _EMPTY:
            yield folder / subpath / name, label


def _metadata_lines(path: pathlib.Path) -> Iterator[Line]:
    """The release has plain text under the name .npy; NumPy files are read too."""
    with reading(path), path.open("rb") as file:
        is_array = file.read(len(_NUMPY)) == _NUMPY
    if not is_array:
        yield from read_words(path)
        return
    try:
        rows = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError):
        raise DataError(f"{path} is a corrupted NumPy file, or one of Python objects") from None
    if rows.ndim != 2 or rows.dtype.kind not in "US":
        raise DataError(f"{path} must contain a table of strings")
    for number, row in enumerate(rows.astype(str).tolist(), 1):
        yield Line(path, number, row)


def _examples(images: list[tuple[pathlib.Path, int]], resolution: int) -> Examples:
    for path, label in progress(images, "reading images", len(images)):
        yield (read_gray(path, resolution, resolution).reshape(-1),), label


register("pathfinder", load)
register("pathfinder_6", load_6)
register("pathfinder_9", load_9)
register("pathx", load_pathx)
