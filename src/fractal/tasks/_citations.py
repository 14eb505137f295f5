"""A small stand-in for pairs of papers: does one cite the other?

A document opens with its title, goes on with words that mean nothing, and ends with a citation of
a title. Two are related when the second cites the first. So what matters stands at the very
beginning of one document and at the very end of the other, and each has a title and a citation
that lead astray.
"""

import random
from typing import NamedTuple

_TITLES = ("amber", "birch", "cedar", "daisy", "ember", "fjord", "grove", "heron")
_FILLER = ("a", "the", "of", "and", "we", "in", "is", "for", "on", "with", "by", "are", "that")
_FILLER += ("model", "data", "results", "method", "show", "large", "small", "using", "from", "text")
_FILLER += ("parse", "word", "set", "each", "new", "two", "one", "can", "our", "which", "between")


class Pair(NamedTuple):
    """Two documents, and whether the second cites the first."""

    label: int
    first: str
    second: str


def draw_pair(rng: random.Random, related: bool, shortest: int, longest: int) -> Pair:
    """Two documents of between `shortest` and `longest` characters."""
    title, other, astray = rng.sample(_TITLES, 3)
    cited = title if related else astray  # never the second's own: that would give the answer away
    first = _document(rng, title, rng.choice(_TITLES), shortest, longest)
    second = _document(rng, other, cited, shortest, longest)
    return Pair(int(related), first, second)


def _document(rng: random.Random, title: str, cited: str, shortest: int, longest: int) -> str:
    length = rng.randint(shortest, longest)
    opening, closing = f"title {title}", f"cites {cited}"
    words, size = [opening], len(opening) + 1 + len(closing)
    while size + 1 + len(word := rng.choice(_FILLER)) <= length:
        words.append(word)
        size += 1 + len(word)
    return " ".join([*words, closing])
