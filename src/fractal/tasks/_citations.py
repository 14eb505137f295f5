"""Generated pairs of documents, of which the second cites the first or not.

A document begins with its title, continues with filler words and ends with a citation of a title.
Two documents are related if the second cites the title of the first. The evidence is therefore at
the beginning of one document and at the end of the other. The citation of the first and the title
of the second are irrelevant.
"""

import random
from typing import NamedTuple

_TITLES = ("amber", "birch", "cedar", "daisy", "ember", "fjord", "grove", "heron")
_FILLER = ("a", "the", "of", "and", "we", "in", "is", "for", "on", "with", "by", "are", "that")
_FILLER += ("model", "data", "results", "method", "show", "large", "small", "using", "from", "text")
_FILLER += ("parse", "word", "set", "each", "new", "two", "one", "can", "our", "which", "between")


class CitationPair(NamedTuple):
    """Two documents, and 1 if the second cites the first, else 0."""

    label: int
    first: str
    second: str


def draw_pair(rng: random.Random, related: bool, shortest: int, longest: int) -> CitationPair:
    """Two documents of between `shortest` and `longest` characters."""
    title, other, unrelated = rng.sample(_TITLES, 3)
    cited = title if related else unrelated  # never its own, which would reveal the label
    first = _document(rng, title, rng.choice(_TITLES), shortest, longest)
    second = _document(rng, other, cited, shortest, longest)
    return CitationPair(int(related), first, second)


def _document(rng: random.Random, title: str, cited: str, shortest: int, longest: int) -> str:
    length = rng.randint(shortest, longest)
    opening, closing = f"title {title}", f"cites {cited}"
    words, size = [opening], len(opening) + 1 + len(closing)
    while size + 1 + len(word := rng.choice(_FILLER)) <= length:
        words.append(word)
        size += 1 + len(word)
    return " ".join([*words, closing])
