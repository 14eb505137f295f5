"""Batches of fixed shapes, each a function of the seed and its number alone.

The position of a training run in its data is therefore one integer, and a resumed run reads the
same batches as an uninterrupted one.
"""

import collections
import concurrent.futures
import itertools
from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .._checks import check_count, check_seed
from .._errors import UserError
from ._task import Split, Task

_MOST_BUCKETS = 16


class Batch(NamedTuple):
    """Padded examples.

    - `inputs`: token ids (batch, time) or values (batch, time, channels); (batch, 2, time) or
      (batch, 2, time, channels) for pairs.
    - `lengths`: number of steps that are not padding, (batch,), or (batch, 2) for pairs.
    - `labels`: classes (batch,), or the targets of a regression (batch, outputs).
    - `real`: False for rows that only complete the last batch of an evaluation.
    """

    inputs: Int[np.ndarray, "batch *pair time"] | Float[np.ndarray, "batch *pair time channels"]
    lengths: Int[np.ndarray, "batch *pair"]
    labels: Int[np.ndarray, " batch"] | Float[np.ndarray, "batch outputs"]
    real: Bool[np.ndarray, " batch"]


class Batches:
    """The batches of a split: `batches[number]` for any number, `stream` for one after another."""

    def __init__(
        self,
        task: Task,
        split: Split,
        size: int,
        *,
        training: bool,
        seed: int = 0,
        buckets: int = 1,
        process: int = 0,
        processes: int = 1,
    ):
        """
        **Arguments:**

        - `size`: examples per batch, over all processes.
        - `training`: if true, examples are shuffled in every epoch by `seed`, and a last partial
          batch is dropped. Otherwise all examples come in order, and the last batch is completed
          with rows that are not `real`.
        - `buckets`: number of padded lengths, 1/n, 2/n, … of the task's length; with 1 all batches
          have that length. A batch contains examples of similar length, padded to the shortest
          that fits.
        - `process`, `processes`: which share of every batch this process reads.
        """
        for argument, value, kind in (("task", task, Task), ("split", split, Split)):
            if not isinstance(value, kind):
                raise UserError(
                    f"must be a {kind.__name__}, got {type(value).__name__}", argument=argument
                )
        size, processes = check_count("size", size, 1), check_count("processes", processes, 1)
        process = check_count("process", process, 0, processes - 1)
        buckets = check_count("buckets", buckets, 1, _MOST_BUCKETS)
        if size % processes:
            raise UserError(f"a batch of {size} is not a multiple of the {processes} processes")
        self.task, self.split, self.size = task, split, size
        self.training, self.seed = training, check_seed(seed)
        self._share = slice(process * size // processes, (process + 1) * size // processes)
        self._by_length = _by_length(task, split, buckets)
        counts = [len(rows) for rows in self._by_length.values()]
        self._epoch_length = sum(counts) // size if training else sum(-(-n // size) for n in counts)
        if self._epoch_length == 0:
            raise UserError(f"a batch of {size} is larger than the data, {sum(counts)} examples")
        self._order: tuple[int, list] = (-1, [])

    def __len__(self) -> int:
        """Number of batches per epoch."""
        return self._epoch_length

    def __getitem__(self, number: int) -> Batch:
        number = check_count("number", number, 0)
        epoch, index = divmod(number, len(self))
        length, rows = self._epoch(epoch if self.training else 0)[index]
        return self._collated(rows[self._share], length)

    def examples(self) -> Int[np.ndarray, " examples"]:
        """The examples of the split in the order of the first epoch's batches."""
        return np.concatenate([rows for _, rows in self._epoch(0)])

    def stream(self, start: int = 0, ahead: int = 2) -> Generator[Batch, None, None]:
        """An endless stream of the batches from number `start` on, prepared in the background."""
        start, ahead = check_count("start", start, 0), check_count("ahead", ahead, 1)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            numbers = itertools.count(start)
            pending = collections.deque(
                pool.submit(self.__getitem__, number) for number in itertools.islice(numbers, ahead)
            )
            for number in numbers:
                yield pending.popleft().result()
                pending.append(pool.submit(self.__getitem__, number))

    def _epoch(self, epoch: int) -> list[tuple[int, Int[np.ndarray, " rows"]]]:
        """Padded length and examples of each batch, over all processes."""
        if self._order[0] != epoch:
            self._order = (epoch, self._ordered(np.random.default_rng([self.seed, epoch])))
        return self._order[1]

    def _ordered(self, rng: np.random.Generator) -> list[tuple[int, Int[np.ndarray, " rows"]]]:
        batches, left = [], np.zeros(0, int)
        for length, rows in self._by_length.items():
            if self.training:  # what does not make a batch is padded to the next length
                rows = np.concatenate([left, rng.permutation(rows)])
                rows, left = np.split(rows, [len(rows) // self.size * self.size])
            batches += [(length, rows[i : i + self.size]) for i in range(0, len(rows), self.size)]
        return [batches[i] for i in rng.permutation(len(batches))] if self.training else batches

    def _collated(self, examples: Int[np.ndarray, " rows"], length: int) -> Batch:
        sequences, share = self.split.sequences, self._share.stop - self._share.start
        rows = self.split.rows[examples]
        values, labels = sequences.values, sequences.labels
        shape = (share, sequences.documents, length, *values.shape[1:])
        padded = np.zeros(shape, values.dtype)
        lengths = np.zeros((share, sequences.documents), np.int32)
        for place, row in enumerate(rows):
            for document in range(sequences.documents):
                start, stop = sequences.offsets[row * sequences.documents + document :][:2]
                padded[place, document, : stop - start] = values[start:stop]
                lengths[place, document] = stop - start
        targets = np.zeros((share, *labels.shape[1:]), labels.dtype)
        targets[: len(rows)] = labels[rows]
        if sequences.documents == 1:
            padded, lengths = padded[:, 0], lengths[:, 0]
        if self.task.levels is not None:
            inputs = self.task.levels[padded][..., None]
        else:
            inputs = padded.astype(np.int32) if self.task.tokens else padded
        return Batch(inputs, lengths, targets, np.arange(share) < len(rows))


def _by_length(task: Task, split: Split, buckets: int) -> dict[int, Int[np.ndarray, " rows"]]:
    """The examples of a split by the length to which they are padded."""
    longest = split.lengths.max(axis=1, initial=0)
    lengths = sorted({-(-task.length * k // buckets) for k in range(1, buckets + 1)})
    bucket = np.searchsorted(lengths, longest)
    chosen = {length: np.flatnonzero(bucket == i) for i, length in enumerate(lengths)}
    return {length: rows for length, rows in chosen.items() if len(rows)}
