"""A task: three splits of labeled sequences, and the shapes of a model that fits them."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float, Int

from .._checks import check_choice, check_count, check_type
from .._errors import UserError
from ._errors import DataError
from ._request import Validation
from ._sequences import Labels, Sequences

Kind = Literal["classification", "regression", "retrieval"]

_SPLIT_SEED = 42


@dataclasses.dataclass(frozen=True)
class Split:
    """A subset of the examples of a data set, by row."""

    sequences: Sequences
    rows: Int[np.ndarray, " examples"]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def labels(self) -> Labels:
        """Classes (examples,), or the targets of a regression (examples, outputs)."""
        return self.sequences.labels[self.rows]

    @property
    def lengths(self) -> Int[np.ndarray, "examples documents"]:
        """Number of steps of each document of each example."""
        return self.sequences.lengths[self.rows]

    def documents(self, index: int) -> tuple[np.ndarray, ...]:
        """The stored documents of one example: token ids, gray levels or real values."""
        first = int(self.rows[index]) * self.sequences.documents
        ends = self.sequences.offsets[first : first + self.sequences.documents + 1]
        return tuple(self.sequences.values[a:b] for a, b in itertools.pairwise(ends))


class Splits(NamedTuple):
    """Training, validation (chooses the best checkpoint) and test set."""

    train: Split
    validation: Split
    test: Split


@dataclasses.dataclass(frozen=True)
class Task:
    """Labeled sequences of tokens or of real values. `from_arrays` builds one from arrays.

    - `kind`: `"classification"`, `"regression"`, or `"retrieval"` (two classes of pairs of
      documents). `SequenceModel(task=…)` takes `Task.kind`, not the name of a task.
    - `length`: number of steps to which sequences are padded.
    - `inputs`: number of token ids, or of channels.
    - `outputs`: number of classes, or of targets per example in a regression.
    - `vocabulary`: the token of each id; empty for real values or if not known.
    - `levels`: the value of each stored byte, for images; None otherwise.
    """

    name: str
    kind: Kind
    length: int
    inputs: int
    outputs: int
    splits: Splits
    vocabulary: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    levels: Float[np.ndarray, "256"] | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        if not (isinstance(self.name, str) and self.name):
            raise UserError(f"must be a name, got {self.name!r:.60}", argument="name")
        check_choice("kind", self.kind, get_args(Kind))
        for argument in ("length", "inputs", "outputs"):
            check_count(argument, getattr(self, argument), 1)
        check_type("splits", self.splits, Splits)

    @property
    def tokens(self) -> bool:
        """Whether sequences consist of token ids, not real values."""
        return self.levels is None and self.splits.train.sequences.values.ndim == 1

    @functools.cached_property
    def padded(self) -> bool:
        """Whether some sequences are shorter than `length`, so that a model needs `lengths`."""
        return any((split.lengths < self.length).any() for split in self.splits)


def pixel_task(
    name: str, pixels: int, classes: int, levels: Float[np.ndarray, "256"], splits: Splits
) -> Task:
    """A classification of gray images by pixels."""
    return Task(
        name=name,
        kind="classification",
        length=pixels,
        inputs=1,
        outputs=classes,
        levels=levels,
        splits=splits,
    )


def all_rows(sequences: Sequences) -> Split:
    """A split of all examples."""
    return Split(sequences, np.arange(len(sequences)))


def given_splits(parts: Mapping[str, Sequences], validation: Validation) -> Splits:
    """The splits of a task with one file per split."""
    check_own_validation(validation)
    return Splits(*(all_rows(parts[name]) for name in Splits._fields))


def check_own_validation(validation: Validation) -> None:
    """Raise `UserError` if a task that has a validation set is to use its test set for it."""
    if validation == "test":
        raise DataError(
            "this task has a validation set of its own; leave out 'test'", argument="validation"
        )


def held_out(parts: Mapping[str, Sequences], validation: Validation) -> Splits:
    """Splits of a task without validation set: a tenth of the training set, drawn by a seed.

    `"test"` validates on the test set and trains on the whole training set, as S5, S4 and LRA do
    for IMDB.
    """
    test = all_rows(parts["test"])
    if validation == "test":
        return Splits(all_rows(parts["train"]), validation=test, test=test)
    kept, held = portions(len(parts["train"]), (0.9, 0.1))
    return Splits(Split(parts["train"], kept), Split(parts["train"], held), test)


def portions(
    count: int, shares: tuple[float, ...], seed: int = _SPLIT_SEED
) -> list[Int[np.ndarray, " part"]]:
    """Rows 0 … count − 1 in disjoint random parts, each in increasing order."""
    order = np.random.default_rng(seed).permutation(count)
    ends = np.round(np.cumsum(shares[:-1]) * count).astype(int)
    return [np.sort(part) for part in np.split(order, ends)]
