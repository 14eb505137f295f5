"""Sequences of any length with their labels, in flat arrays, memory-mapped for built-in tasks.

All sequences are concatenated in one array; a second array contains their offsets. An example is
one sequence, or two consecutive ones for pairs of documents.
"""

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int, UInt

from ._errors import DataError
from ._folders import cache_folder, content_hash, short_hash, staged

_FORMAT = 1

Examples = Iterable[tuple[tuple[np.ndarray, ...], int]]
"""Documents of uint8 or uint16, and their label."""

Labels = Int[np.ndarray, " examples"] | Float32[np.ndarray, "examples outputs"]


class Built(NamedTuple):
    """The token of each id, and the examples of each part, before they are stored."""

    vocabulary: Sequence[str]
    parts: Mapping[str, Examples]


class Prepared(NamedTuple):
    """The token of each id, and the stored examples of each part."""

    vocabulary: tuple[str, ...]
    parts: dict[str, "Sequences"]


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Examples of a data set.

    - `values`: all sequences, concatenated: token ids or gray levels (total,), or real values
      (total, channels). Sequence i is `values[offsets[i]:offsets[i+1]]`.
    - `labels`: classes (examples,), or the targets of a regression (examples, outputs).
    - `documents`: sequences per example: 1, or 2 for pairs.
    """

    values: UInt[np.ndarray, " total"] | Float32[np.ndarray, "total channels"]
    offsets: Int[np.ndarray, " ends"]
    labels: Labels
    documents: int = 1

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Int[np.ndarray, "examples documents"]:
        """Number of steps of each document."""
        return np.diff(self.offsets).reshape(len(self), self.documents)


def prepared(name: str, made_from: Mapping[str, object], build: Callable[[], Built]) -> Prepared:
    """Read the arrays of a task from the cache, after building them there if needed.

    **Arguments:**

    - `name`: prefix of the folder's name.
    - `made_from`: hash of the source and every option that changes the arrays. They determine the
      folder's name, so that a change of any builds new arrays.
    - `build`: returns the examples.
    """
    folder = cache_folder() / "arrays" / f"{name}-{short_hash(format=_FORMAT, **made_from)}"
    if not folder.is_dir():
        with staged(folder, replaceable=True) as temporary:
            built = build()
            about = {
                "vocabulary": list(built.vocabulary),
                "parts": {
                    part: _write(temporary / part, rows) for part, rows in built.parts.items()
                },
            }
            (temporary / "about.json").write_text(json.dumps(about, indent=2))
    try:
        about = json.loads((folder / "about.json").read_bytes())
        parts = {part: _read(folder / part, **sizes) for part, sizes in about["parts"].items()}
        return Prepared(tuple(about["vocabulary"]), parts)
    except (OSError, ValueError, EOFError, KeyError, TypeError):
        message = f"{folder} is corrupted: remove it, and it is built again"
        raise DataError(message) from None


def prepared_files(
    name: str,
    files: Mapping[str, pathlib.Path],
    length: int,
    build: Callable[[Mapping[str, pathlib.Path], int], Built],
) -> Prepared:
    """The arrays of a task with one file per split, built from these files and a length."""
    made_from = {"source": content_hash(files.values()), "length": length}
    return prepared(name, made_from, lambda: build(files, length))


def _write(stem: pathlib.Path, examples: Examples) -> dict[str, int | str]:
    """Write one part example by example, without holding it in memory."""
    lengths, labels, dtype, documents = [], [], "uint8", 1
    with open(stem.with_suffix(".values"), "wb") as file:
        for sequences, label in examples:
            documents = len(sequences)
            for sequence in sequences:
                dtype = sequence.dtype.name
                sequence.tofile(file)
                lengths.append(len(sequence))
            labels.append(label)
    if not labels:
        raise DataError(f"the {stem.name} set is empty")
    np.save(stem.with_suffix(".offsets.npy"), np.concatenate([[0], np.cumsum(lengths)]))
    np.save(stem.with_suffix(".labels.npy"), np.asarray(labels, np.int32))
    return {"dtype": dtype, "documents": documents, "total": sum(lengths)}


def _read(stem: pathlib.Path, dtype: str, documents: int, total: int) -> Sequences:
    """Map one part into memory; ValueError if the sizes of its files do not match."""
    offsets = np.load(stem.with_suffix(".offsets.npy"), mmap_mode="r", allow_pickle=False)
    labels = np.load(stem.with_suffix(".labels.npy"), mmap_mode="r", allow_pickle=False)
    values = np.memmap(stem.with_suffix(".values"), dtype, mode="r")
    if len(values) != total or offsets[-1] != total or len(offsets) != documents * len(labels) + 1:
        raise ValueError
    return Sequences(values, offsets, labels, documents)
