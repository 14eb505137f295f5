"""Retrieval: are two papers related? (pairs of documents, character by character)

The ACL Anthology Network pairs of the Long Range Arena must be brought by the user. `mini` is a
generated stand-in of the same form.
"""

import collections
import pathlib
import random
from collections.abc import Iterator
from typing import NamedTuple

from .._progress import progress
from ._citations import draw_pair
from ._errors import DataError
from ._folders import cache_folder, content_hash, require_free, short_hash, staged
from ._layout import find
from ._registry import register
from ._request import Request
from ._sequences import Built, Examples, prepared
from ._tables import read_table
from ._task import Task, given_splits
from ._tokens import Characters, count_characters, vocabulary

PARTS = {
    "train": "new_aan_pairs.train.tsv",
    "validation": "new_aan_pairs.eval.tsv",
    "test": "new_aan_pairs.test.tsv",
}
_LENGTHS = {"paper": 4000, "mini": 128}
_CLASSES = 2
_ADVICE = " (label, id1, id2, text1, text2; a release with ids and no text cannot be used)"


class Size(NamedTuple):
    """Of the stand-in: shortest and longest document in characters, and pairs in all."""

    shortest: int
    longest: int
    examples: int


MINI = Size(shortest=48, longest=_LENGTHS["mini"] - 1, examples=40_000)
_SHARES = {"train": 80, "validation": 10, "test": 10}  # of a hundred


def generate(out: pathlib.Path, size: Size, seed: int) -> None:
    """Write the stand-in as the three files of the official layout into the new folder `out`."""
    require_free(out)
    if size.examples < 10:
        raise DataError(f"--count {size.examples}: at least 10 pairs are needed for three files")
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
    """Read the files in the folder that the user names; `mini` is generated when there is none."""
    length = _LENGTHS[request.preset]
    if request.data is not None:
        folder = find(
            request.data,
            ("tsv_data", "aan", ""),
            PARTS["train"],
            "unpack the LRA release, or make a stand-in with `fractal data retrieval --out DIR`",
        )
    elif request.preset == "mini":
        folder = cache_folder() / "generated" / f"retrieval-mini-{short_hash(size=MINI)}"
        if not folder.is_dir():
            generate(folder, MINI, seed=0)
    else:
        raise DataError(
            "the ACL Anthology Network pairs must be brought: unpack the LRA release and give "
            "--data DIR; --preset mini has a generated stand-in"
        )
    files = {part: folder / name for part, name in PARTS.items()}
    arrays = prepared(
        "retrieval",
        {"source": content_hash(files.values()), "length": length},
        lambda: _build(files, length),
    )
    return Task(
        name="retrieval",
        kind="retrieval",
        length=length,
        inputs=len(arrays.vocabulary),
        outputs=_CLASSES,
        vocabulary=arrays.vocabulary,
        splits=given_splits(arrays.parts, request.validation),
    )


def _build(files: dict[str, pathlib.Path], length: int) -> Built:
    """Ids follow the frequencies in the training set, so that is read twice."""
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
    """Two texts and whether they are related, by line; there is no heading."""
    for line in read_table(path, columns=5, advice=_ADVICE):
        label, _, _, first, second = line.fields
        yield (first, second), line.label(label, _CLASSES)


register("retrieval", load)
