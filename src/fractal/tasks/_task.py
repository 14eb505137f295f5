"""What a task is: three splits of labeled sequences, and how to read them."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ._errors import DataError
from ._request import Validation
from ._sequences import Sequences

_SPLIT_SEED = 42


@dataclasses.dataclass(frozen=True)
class Split:
    """Some of the examples of an array, by row."""

    sequences: Sequences
    rows: Int[np.ndarray, " examples"]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def labels(self) -> Int[np.ndarray, " examples"]:
        """The answers, in order."""
        return self.sequences.labels[self.rows]

    @property
    def lengths(self) -> Int[np.ndarray, "examples documents"]:
        """How long each document of each example is."""
        return self.sequences.lengths[self.rows]

    def documents(self, index: int) -> tuple[np.ndarray, ...]:
        """What is stored of one example: token ids, or gray levels."""
        first = int(self.rows[index]) * self.sequences.documents
        ends = self.sequences.offsets[first : first + self.sequences.documents + 1]
        return tuple(self.sequences.values[a:b] for a, b in itertools.pairwise(ends))


class Splits(NamedTuple):
    """What a model is trained on, chosen by, and judged by."""

    train: Split
    validation: Split
    test: Split


@dataclasses.dataclass(frozen=True)
class Task:
    """Labeled sequences of tokens or of values.

    - `kind`: `"classification"`, or `"retrieval"` for pairs of documents: `SequenceModel`'s task.
    - `length`: what sequences are padded to.
    - `inputs`: width of a model's input: token ids lie below it, or the number of channels.
    - `outputs`: number of classes.
    - `vocabulary`: the token of each id; empty where the input is of values.
    - `levels`: the value of each stored byte; None where the input is of tokens.
    """

    name: str
    kind: str
    length: int
    inputs: int
    outputs: int
    splits: Splits
    vocabulary: tuple[str, ...] = ()
    levels: Float[np.ndarray, "256"] | None = None
    metric: str = "accuracy"

    @property
    def tokens(self) -> bool:
        """Whether the input is of tokens."""
        return self.levels is None


def whole(sequences: Sequences) -> Split:
    """All examples."""
    return Split(sequences, np.arange(len(sequences)))


def given_splits(parts: Mapping[str, Sequences], validation: Validation) -> Splits:
    """The three splits where each has its own file."""
    check_own_validation(validation)
    return Splits(*(whole(parts[name]) for name in Splits._fields))


def check_own_validation(validation: Validation) -> None:
    """A task that has a validation set is not validated on its test set."""
    if validation == "test":
        raise DataError(
            "--validation test: this task has a validation set of its own, leave it out"
        )


def held_out(parts: Mapping[str, Sequences], validation: Validation) -> Splits:
    """Splits where there is no validation set: a tenth of the training set, drawn by a seed.

    `"test"` validates on the test set and trains on everything, as S5, S4 and LRA do for IMDB.
    """
    test = whole(parts["test"])
    if validation == "test":
        return Splits(whole(parts["train"]), validation=test, test=test)
    kept, away = portions(len(parts["train"]), (0.9, 0.1))
    return Splits(Split(parts["train"], kept), Split(parts["train"], away), test)


def portions(count: int, shares: tuple[float, ...]) -> list[Int[np.ndarray, " part"]]:
    """Rows 0 … count − 1 in disjoint parts, drawn by a fixed seed, each in rising order."""
    order = np.random.default_rng(_SPLIT_SEED).permutation(count)
    ends = np.round(np.cumsum(shares[:-1]) * count).astype(int)
    return [np.sort(part) for part in np.split(order, ends)]
