"""Batches of fixed shapes, each a function of the seed and its number alone.

So the position of a training run in its data is one integer, and going on from it gives the very
batches that would have come.
"""

import collections
import concurrent.futures
import itertools
from collections.abc import Generator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .._errors import UserError
from ._task import Split, Task


class Batch(NamedTuple):
    """Padded examples.

    - `inputs`: token ids (batch, time) or values (batch, time, 1); (batch, 2, time) for pairs.
    - `lengths`: what is not padding, (batch,), or (batch, 2) for pairs.
    - `labels`: (batch,).
    - `real`: False for rows that only fill up the last batch of an evaluation.
    """

    inputs: Int[np.ndarray, "batch *pair time"] | Float[np.ndarray, "batch *pair time 1"]
    lengths: Int[np.ndarray, "batch *pair"]
    labels: Int[np.ndarray, " batch"]
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

        - `size`: examples of a batch, over all processes.
        - `training`: shuffled anew each epoch by `seed`, a last partial batch dropped. Otherwise
          in order and all of them, the last batch filled up.
        - `buckets`: with 1 all batches have the task's length; with n also 1/2, 1/4, … of it. A
          batch then holds examples of similar length, padded to the shortest that holds them.
        - `process`, `processes`: which share of every batch this process reads.
        """
        if size < 1 or size % processes:
            raise UserError(
                f"a batch of {size} cannot be shared by {processes} processes: choose a multiple"
            )
        self.task, self.split, self.size = task, split, size
        self.training, self.seed = training, seed
        self._share = slice(process * size // processes, (process + 1) * size // processes)
        self._by_length = _by_length(task, split, buckets)
        counts = [len(rows) for rows in self._by_length.values()]
        self._epoch_length = sum(n // size if training else -(-n // size) for n in counts)
        if self._epoch_length == 0:
            raise UserError(
                f"a batch of {size} is larger than the data, {max(counts, default=0)} examples"
                + (" of similar length" if buckets > 1 else "")
            )
        self._order: tuple[int, list] = (-1, [])

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self._epoch_length

    def __getitem__(self, number: int) -> Batch:
        epoch, index = divmod(number, len(self))
        length, rows = self._epoch(epoch if self.training else 0)[index]
        return self._collated(rows[self._share], length)

    def stream(self, start: int = 0, ahead: int = 2) -> Generator[Batch, None, None]:
        """All batches from number `start` on, without end, prepared in the background."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            numbers = itertools.count(start)
            waiting = collections.deque(
                pool.submit(self.__getitem__, number) for number in itertools.islice(numbers, ahead)
            )
            for number in numbers:
                yield waiting.popleft().result()
                waiting.append(pool.submit(self.__getitem__, number))

    def _epoch(self, epoch: int) -> list[tuple[int, Int[np.ndarray, " rows"]]]:
        """Padded length and examples of each batch, all processes together."""
        if self._order[0] != epoch:
            self._order = (epoch, self._ordered(np.random.default_rng([self.seed, epoch])))
        return self._order[1]

    def _ordered(self, rng: np.random.Generator) -> list[tuple[int, Int[np.ndarray, " rows"]]]:
        batches = []
        for length, rows in self._by_length.items():
            if self.training:
                rows = rng.permutation(rows)[: len(rows) // self.size * self.size]
            batches += [(length, rows[i : i + self.size]) for i in range(0, len(rows), self.size)]
        return [batches[i] for i in rng.permutation(len(batches))] if self.training else batches

    def _collated(self, examples: Int[np.ndarray, " rows"], length: int) -> Batch:
        sequences, share = self.split.sequences, self._share.stop - self._share.start
        rows = self.split.rows[examples]
        padded = np.zeros((share, sequences.documents, length), sequences.values.dtype)
        lengths = np.zeros((share, sequences.documents), np.int32)
        for place, row in enumerate(rows):
            for document in range(sequences.documents):
                start, stop = sequences.offsets[row * sequences.documents + document :][:2]
                padded[place, document, : stop - start] = sequences.values[start:stop]
                lengths[place, document] = stop - start
        labels = np.zeros(share, np.int32)
        labels[: len(rows)] = sequences.labels[rows]
        if sequences.documents == 1:
            padded, lengths = padded[:, 0], lengths[:, 0]
        levels = self.task.levels
        inputs = padded.astype(np.int32) if levels is None else levels[padded][..., None]
        return Batch(inputs, lengths, labels, np.arange(share) < len(rows))


def _by_length(task: Task, split: Split, buckets: int) -> dict[int, Int[np.ndarray, " rows"]]:
    """Examples of a split by the length they are padded to."""
    longest = split.lengths.max(axis=1, initial=0)
    lengths = sorted({-(-task.length >> halvings) for halvings in range(buckets)})
    bucket = np.searchsorted(lengths, longest)
    chosen = {length: np.flatnonzero(bucket == i) for i, length in enumerate(lengths)}
    return {length: rows for length, rows in chosen.items() if len(rows)}
