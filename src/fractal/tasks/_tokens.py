"""Token ids in S5's order: `<pad>`, `<unk>`, `<eos>`, then by frequency."""

import collections
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import UInt

PAD, UNKNOWN, END = 0, 1, 2
SPECIAL = ("<pad>", "<unk>", "<eos>")


def vocabulary(counts: collections.Counter[str], least: int = 1) -> tuple[str, ...]:
    """Tokens that occur at least `least` times, most frequent first, ties alphabetically."""
    kept = [token for token, count in counts.items() if count >= least]
    return SPECIAL + tuple(sorted(kept, key=lambda token: (-counts[token], token)))


def count_characters(texts: Iterable[str]) -> collections.Counter[str]:
    """Number of occurrences of each character."""
    counts: collections.Counter[int] = collections.Counter()
    for text in texts:
        points, times = np.unique(_points(text), return_counts=True)
        counts.update(dict(zip(points.tolist(), times.tolist(), strict=True)))
    return collections.Counter({chr(point): count for point, count in counts.items()})


class Characters:
    """Encodes text as ids: truncated to `length` − 1 characters, then `<eos>`."""

    def __init__(self, tokens: Sequence[str], length: int):
        self._length = length
        self._ids = np.full(0x110000, UNKNOWN, id_type(len(tokens)))
        for number, token in enumerate(tokens[len(SPECIAL) :], len(SPECIAL)):
            self._ids[ord(token)] = number

    def __call__(self, text: str) -> UInt[np.ndarray, " time"]:
        ids = self._ids[_points(text[: self._length - 1])]
        return np.append(ids, self._ids.dtype.type(END))


def id_type(size: int) -> np.dtype:
    """The narrowest type that can represent `size` ids."""
    return np.min_scalar_type(size - 1)


def _points(text: str) -> UInt[np.ndarray, " time"]:
    """Unicode code points. Unpaired surrogates, which JSON allows, count as such."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
