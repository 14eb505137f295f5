"""Retrieval: whether one paper cites another (pairs of documents, by character; two classes).

The ACL Anthology Network pairs are in the Long Range Arena release only. `mini` is a synthetic
substitute.
"""

import collections
import pathlib
import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .._checks import check_count, check_seed
from .._progress import progress
from ._citations import draw_pair
from ._errors import MissingData
from ._folders import cache_folder, check_new, check_space, short_hash, staged
from ._layout import find
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared_files
from ._tables import read_table
from ._task import Task, given_splits
from ._tokens import Characters, count_characters, vocabulary

PARTS = {
    "train": "new_aan_pairs.train.tsv",
    "validation": "new_aan_pairs.eval.tsv",
    "test": "new_aan_pairs.test.tsv",
}
_LENGTHS = {"paper": 4000, "laptop": 4000, "mini": 128}
_CLASSES = 2
_FEWEST = 10
_COLUMNS_HINT = " (label, id1, id2, text1, text2; a release with ids and no text cannot be used)"


class RetrievalSize(NamedTuple):
    """Of generated data: shortest and longest document in characters, and number of pairs."""

    shortest: int
    longest: int
    examples: int


MINI = RetrievalSize(shortest=48, longest=_LENGTHS["mini"] - 1, examples=40_000)
LAPTOP = RetrievalSize(shortest=1000, longest=_LENGTHS["laptop"] - 1, examples=40_000)
_SHARES = {"train": 80, "validation": 10, "test": 10}  # percent


def generate(out: pathlib.Path, size: RetrievalSize, seed: int) -> None:
    """Write generated pairs as three files of the official layout into the new folder `out`."""
    check_new(out)
    check_count("count", size.examples, _FEWEST, why=" for three files")
    check_space(out, size.examples, 2 * size.longest)
    check_seed(seed)
    with staged(out) as folder:
        for part, name in PARTS.items():
            rng = random.Random(f"{seed}/{part}")
            count = size.examples * _SHARES[part] // 100
            related = [number % 2 == 0 for number in range(count)]
            rng.shuffle(related)
            with open(folder / name, "w", encoding="utf-8", newline="\n") as file:
                for number, one in enumerate(progress(related, f"writing {name}", count)):
                    pair = draw_pair(rng, one, size.shortest, size.longest)
                    ids = f"{part}-{number}-a\t{part}-{number}-b"
                    file.write(f"{float(pair.label)}\t{ids}\t{pair.first}\t{pair.second}\n")


def load(request: Request) -> Task:
    """Read the files in `data`; without it, `mini` and `laptop` are generated substitutes."""
    length = _LENGTHS[request.preset]
    if request.data is not None:
        folder = find(request.data, ("tsv_data", "aan", ""), PARTS["train"])
    elif request.preset == "paper":
        raise MissingData("retrieval", "release")
    else:
        size = MINI if request.preset == "mini" else LAPTOP
        name = f"retrieval-{request.preset}-{short_hash(size=size)}"
        folder = cache_folder() / "generated" / name
        if not folder.is_dir():
            generate(folder, size, seed=0)
    files = {part: folder / name for part, name in PARTS.items()}
    arrays = prepared_files("retrieval", files, length, _build)
    return Task(
        name="retrieval",
        kind="retrieval",
        length=length,
        inputs=len(arrays.vocabulary),
        outputs=_CLASSES,
        vocabulary=arrays.vocabulary,
        splits=given_splits(arrays.parts, request.validation),
    )


def _build(files: Mapping[str, pathlib.Path], length: int) -> Built:
    """The training set is read twice, since ids are ordered by their frequency in it."""
    counts: collections.Counter[str] = collections.Counter()
    for texts, _ in _read(files["train"]):
        counts.update(count_characters(text[: length - 1] for text in texts))
    tokens = vocabulary(counts)
    encode = Characters(tokens, length)
    return Built(tokens, {part: _examples(path, encode) for part, path in files.items()})


def _examples(path: pathlib.Path, encode: Characters) -> Examples:
    for (first, second), label in _read(path):
        yield (encode(first), encode(second)), label


def _read(path: pathlib.Path) -> Iterator[tuple[tuple[str, str], int]]:
    """The two texts and the label of each line; the files have no header."""
    for line in read_table(path, columns=5, hint=_COLUMNS_HINT):
        label, _, _, first, second = line.fields
        yield (first, second), line.label(label, _CLASSES)


register("retrieval", load)
