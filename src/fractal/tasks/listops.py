"""ListOps: the value of nested list operations (classification into ten digits)."""

import collections
import contextlib
import functools
import hashlib
import itertools
import pathlib
from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np

from .._progress import progress
from ._errors import DataError
from ._expressions import OPERATORS, Expression, Limits, draw_expressions
from ._folders import cache_folder, content_hash, require_free, short_hash, staged
from ._layout import find
from ._parallel import ordered
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared
from ._tables import read_table, shown
from ._task import Task, given_splits
from ._tokens import END, UNKNOWN, id_type, vocabulary

PARTS = {"train": "basic_train.tsv", "validation": "basic_val.tsv", "test": "basic_test.tsv"}
_SHARES = (96, 2, 2)  # of a hundred
_HEADER = ["Source", "Target"]
_TOKENS = frozenset((*OPERATORS, *"0123456789", "X"))
_WITHOUT_PARENTHESES = str.maketrans({"(": None, ")": None, "]": "X"})
_INPUTS = 20  # S5's width: 18 ids are in use
_CLASSES = 10
_CHUNK = 100  # expressions that a worker draws at a time; changing it changes what a seed gives


class Size(NamedTuple):
    """How long expressions and padded sequences are, and how many there are."""

    limits: Limits
    length: int
    examples: int


SIZES = {
    "paper": Size(Limits(depth=10, arguments=10, shorter=500, longer=2000), 2048, 100_000),
    "mini": Size(Limits(depth=4, arguments=5, shorter=8, longer=96), 96, 25_000),
}


def generate(out: pathlib.Path, size: Size, seed: int, workers: int) -> None:
    """Write the three files of the official layout into the new folder `out`.

    No expression occurs twice, in one file or in two.
    """
    require_free(out)
    counts = [size.examples * share // 100 for share in _SHARES]
    counts[0] += size.examples - sum(counts)
    if min(counts) < 1:
        raise DataError(
            f"--count {size.examples}: at least 50 expressions are needed for three files"
        )
    distinct = _distinct(size.limits, seed, workers)
    drawn = progress(distinct, f"writing {out}", size.examples)
    with contextlib.closing(distinct), staged(out) as folder:
        for name, count in zip(PARTS.values(), counts, strict=True):
            with open(folder / name, "w", encoding="utf-8", newline="\n") as file:
                file.write("\t".join(_HEADER) + "\n")
                for one in itertools.islice(drawn, count):
                    file.write(f"{one.source}\t{one.value}\n")


def _distinct(limits: Limits, seed: int, workers: int) -> Generator[Expression, None, None]:
    """Without end, the same for any number of workers."""
    chunk = functools.partial(_chunk, limits, seed)
    seen = set()
    for one in itertools.chain.from_iterable(ordered(chunk, itertools.count(), workers)):
        digest = hashlib.blake2b(one.source.encode(), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield one


def _chunk(limits: Limits, seed: int, number: int) -> list[Expression]:
    return draw_expressions(limits, f"{seed}/{number}", _CHUNK)


def load(request: Request) -> Task:
    """Read the files in the folder that the user names; `mini` is generated when there is none."""
    size = SIZES[request.preset]
    if request.data is not None:
        folder = find(
            request.data,
            ("listops-1000", "listops", ""),
            PARTS["train"],
            "make it with `fractal data listops --out DIR`, or unpack the LRA release",
        )
    elif request.preset == "mini":
        name = short_hash(limits=size.limits.__dict__, examples=size.examples, chunk=_CHUNK)
        folder = cache_folder() / "generated" / f"listops-mini-{name}"
        if not folder.is_dir():
            generate(folder, size, seed=0, workers=request.workers)
    else:
        raise DataError(
            "ListOps is not there: make it with `fractal data listops --out DIR`, or unpack the "
            "LRA release, then give --data DIR"
        )
    files = {part: folder / name for part, name in PARTS.items()}
    arrays = prepared(
        "listops",
        {"source": content_hash(files.values()), "length": size.length},
        lambda: _build(files, size.length),
    )
    return Task(
        name="listops",
        kind="classification",
        length=size.length,
        inputs=_INPUTS,
        outputs=_CLASSES,
        vocabulary=arrays.vocabulary,
        splits=given_splits(arrays.parts, request.validation),
    )


def _build(files: dict[str, pathlib.Path], length: int) -> Built:
    """Ids follow the frequencies in the training set, so that is read twice."""
    counts: collections.Counter[str] = collections.Counter()
    for words, _ in _read(files["train"]):
        counts.update(words[: length - 1])
    tokens = vocabulary(counts)
    ids = {token: number for number, token in enumerate(tokens)}
    return Built(tokens, {part: _examples(path, ids, length) for part, path in files.items()})


def _examples(path: pathlib.Path, ids: dict[str, int], length: int) -> Examples:
    for words, label in _read(path):
        known = [ids.get(word, UNKNOWN) for word in words[: length - 1]]
        yield (np.array([*known, END], id_type(len(ids))),), label


def _read(path: pathlib.Path) -> Iterator[tuple[list[str], int]]:
    """The tokens and the label of each line below the heading."""
    lines = read_table(path, columns=2)
    heading = next(lines, None)
    if heading is None or heading.fields != _HEADER:
        raise DataError(
            f"{path}, line 1: the heading must be Source and Target, with a tab between"
        )
    for line in lines:
        source, target = line.fields
        words = source.translate(_WITHOUT_PARENTHESES).split()
        if not _TOKENS.issuperset(words):
            strange = next(word for word in words if word not in _TOKENS)
            raise line.wrong(f"unknown token {shown(strange)}")
        if not words:
            raise line.wrong("there is no expression")
        yield words, line.label(target, _CLASSES)


register("listops", load)
