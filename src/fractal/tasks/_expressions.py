"""The grammar of ListOps: nested list operations on digits, and their values.

A node above the maximal depth is an operator with probability 1/4, otherwise a digit. Operators
have at least 2 arguments. Expressions with lengths outside of the limits are rejected.
"""

import dataclasses
import random
from typing import NamedTuple

OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")
_OPERATOR_SHARE = 0.25


@dataclasses.dataclass(frozen=True)
class Limits:
    """Maximal depth and number of arguments; `shorter` < length in tokens < `longer`."""

    depth: int
    arguments: int
    shorter: int
    longer: int


class Expression(NamedTuple):
    """Text as in the official files, value, and number of tokens without parentheses."""

    source: str
    value: int
    length: int


def draw_expressions(limits: Limits, seed: str, count: int) -> list[Expression]:
    """Draw `count` expressions within the limits; a seed determines them."""
    rng, drawn = random.Random(seed), []
    while len(drawn) < count:
        one = _node(limits, rng, 1, limits.longer)
        if one is not None and one.length > limits.shorter:
            drawn.append(one)
    return drawn


def _node(limits: Limits, rng: random.Random, depth: int, room: int) -> Expression | None:
    """A random subtree of fewer than `room` tokens, or None if it is longer."""
    if depth == limits.depth or rng.random() > _OPERATOR_SHARE:
        digit = int(10 * rng.random())
        return Expression(str(digit), digit, 1)
    operator = OPERATORS[int(len(OPERATORS) * rng.random())]
    count = 2 + int((limits.arguments - 1) * rng.random())
    length, sources, values = 2, [], []
    for _ in range(count):
        child = _node(limits, rng, depth + 1, room - length)
        if child is None or length + child.length >= room:
            return None
        length += child.length
        sources.append(f" {child.source} )")
        values.append(child.value)
    source = f"{'( ' * (count + 1)}{operator}{''.join(sources)} ] )"
    return Expression(source, _apply(operator, values), length)


def _apply(operator: str, values: list[int]) -> int:
    if operator == "[MIN":
        return min(values)
    if operator == "[MAX":
        return max(values)
    if operator == "[SM":
        return sum(values) % 10
    middle = sorted(values)  # the median; the mean of the middle two is rounded down
    return (middle[(len(middle) - 1) // 2] + middle[len(middle) // 2]) // 2
