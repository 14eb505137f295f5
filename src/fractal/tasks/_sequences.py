"""Sequences of any length with their labels, in memory-mapped arrays that are built once.

All sequences stand one after another in one flat file of bytes (or 16-bit words); a second array
says where each begins. An example is one sequence, or two in a row for pairs of documents.
"""

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt

from ._errors import DataError
from ._folders import cache_folder, short_hash, staged

_FORMAT = 1

Examples = Iterable[tuple[tuple[np.ndarray, ...], int]]
"""Sequences of uint8 or uint16, and their label."""


class Built(NamedTuple):
    """What a task prepares: the token of each id, and the examples of each part."""

    vocabulary: Sequence[str]
    parts: Mapping[str, Examples]


class Prepared(NamedTuple):
    """The same, from the cache."""

    vocabulary: tuple[str, ...]
    parts: dict[str, "Sequences"]


@dataclasses.dataclass(frozen=True)
class Sequences:
    """`documents` sequences for each label; sequence i is `values[offsets[i]:offsets[i+1]]`."""

    values: UInt[np.ndarray, " total"]
    offsets: Int[np.ndarray, " ends"]
    labels: Int[np.ndarray, " examples"]
    documents: int

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Int[np.ndarray, "examples documents"]:
        """Of all documents."""
        return np.diff(self.offsets).reshape(len(self), self.documents)


def prepared(name: str, made_from: Mapping[str, object], build: Callable[[], Built]) -> Prepared:
    """The arrays of a task, from the cache, or else built into it.

    **Arguments:**

    - `name`: begins the name of the folder.
    - `made_from`: hash of the source and every option that changes the arrays; together they name
      the folder, so that a change of either builds anew.
    - `build`: gives the examples.
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
        message = f"{folder} is damaged: remove it, and it will be built again"
        raise DataError(message) from None


def _write(stem: pathlib.Path, examples: Examples) -> dict[str, int | str]:
    """Write one part as it comes, without holding it in memory."""
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
    """Map one part; ValueError where the files do not belong together."""
    offsets = np.load(stem.with_suffix(".offsets.npy"), mmap_mode="r", allow_pickle=False)
    labels = np.load(stem.with_suffix(".labels.npy"), mmap_mode="r", allow_pickle=False)
    values = np.memmap(stem.with_suffix(".values"), dtype, mode="r")
    if len(values) != total or offsets[-1] != total or len(offsets) != documents * len(labels) + 1:
        raise ValueError
    return Sequences(values, offsets, labels, documents)
