"""ListOps: the value of nested list operations (ten classes)."""

import collections
import functools
import hashlib
import itertools
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .._checks import check_count, check_seed
from .._progress import progress
from ._errors import DataError, MissingData
from ._expressions import OPERATORS, Expression, Limits, draw_expressions
from ._folders import cache_folder, check_new, check_space, short_hash, staged
from ._layout import find
from ._parallel import parallel_map
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared_files
from ._tables import read_table, shown
from ._task import Task, given_splits
from ._tokens import END, UNKNOWN, id_type, vocabulary

PARTS = {"train": "basic_train.tsv", "validation": "basic_val.tsv", "test": "basic_test.tsv"}
_SHARES = (96, 2, 2)  # percent
_FEWEST = 50
_HEADER = ["Source", "Target"]
_TOKENS = frozenset((*OPERATORS, *"0123456789", "X"))
_WITHOUT_PARENTHESES = str.maketrans({"(": None, ")": None, "]": "X"})
_INPUTS = 20  # as in S5; 18 ids occur
_CLASSES = 10
_CHUNK = 100  # expressions per call of a worker; a change changes the data of a seed


class ListopsSize(NamedTuple):
    """Limits of expressions, padded length, number of examples, bytes per example in a file."""

    limits: Limits
    length: int
    examples: int
    bytes_each: int


_PUBLISHED = ListopsSize(
    Limits(depth=10, arguments=10, shorter=500, longer=2000), 2048, 100_000, 6600
)
SIZES = {
    "paper": _PUBLISHED,
    "laptop": _PUBLISHED,
    "mini": ListopsSize(Limits(depth=4, arguments=5, shorter=8, longer=96), 96, 25_000, 120),
}


def generate(out: pathlib.Path, size: ListopsSize, seed: int, workers: int) -> None:
    """Write the three files of the official layout into the new folder `out`.

    No expression occurs twice, within a file or across files.
    """
    check_new(out)
    count = check_count("count", size.examples, _FEWEST, why=" for three files")
    check_space(out, count, size.bytes_each)
    counts = [count * share // 100 for share in _SHARES]
    counts[0] += count - sum(counts)
    chunk = functools.partial(_chunk, size.limits, check_seed(seed))
    with parallel_map(chunk, itertools.count(), workers) as chunks, staged(out) as folder:
        drawn = progress(_distinct(itertools.chain.from_iterable(chunks)), f"writing {out}", count)
        for name, count in zip(PARTS.values(), counts, strict=True):
            with open(folder / name, "w", encoding="utf-8", newline="\n") as file:
                file.write("\t".join(_HEADER) + "\n")
                for one in itertools.islice(drawn, count):
                    file.write(f"{one.source}\t{one.value}\n")


def _distinct(expressions: Iterable[Expression]) -> Iterator[Expression]:
    """Each expression once."""
    seen = set()
    for one in expressions:
        digest = hashlib.blake2b(one.source.encode(), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield one


def _chunk(limits: Limits, seed: int, number: int) -> list[Expression]:
    return draw_expressions(limits, f"{seed}/{number}", _CHUNK)


def load(request: Request) -> Task:
    """Read the files in `data`; without it, `mini` and `laptop` are generated."""
    size = SIZES[request.preset]
    if request.data is not None:
        folder = find(request.data, ("listops-1000", "listops", ""), PARTS["train"])
    elif request.preset != "paper":
        name = short_hash(limits=size.limits.__dict__, examples=size.examples, chunk=_CHUNK)
        folder = cache_folder() / "generated" / f"listops-{request.preset}-{name}"
        if not folder.is_dir():
            generate(folder, size, seed=0, workers=request.workers)
    else:
        raise MissingData("listops", "generate")
    files = {part: folder / name for part, name in PARTS.items()}
    arrays = prepared_files("listops", files, size.length, _build)
    return Task(
        name="listops",
        kind="classification",
        length=size.length,
        inputs=_INPUTS,
        outputs=_CLASSES,
        vocabulary=arrays.vocabulary,
        splits=given_splits(arrays.parts, request.validation),
    )


def _build(files: Mapping[str, pathlib.Path], length: int) -> Built:
    """The training set is read twice, since ids are ordered by their frequency in it."""
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
    """The tokens and the label of each line below the header."""
    lines = read_table(path, columns=2)
    header = next(lines, None)
    if header is None or header.fields != _HEADER:
        raise DataError(f"{path}, line 1: the header must be Source and Target, separated by a tab")
    for line in lines:
        source, target = line.fields
        words = source.translate(_WITHOUT_PARENTHESES).split()
        if not _TOKENS.issuperset(words):
            unknown = next(word for word in words if word not in _TOKENS)
            raise line.error(f"unknown token {shown(unknown)}")
        if not words:
            raise line.error("there is no expression")
        yield words, line.label(target, _CLASSES)


register("listops", load)
