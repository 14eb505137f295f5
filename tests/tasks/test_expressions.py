import collections
import itertools
import statistics

import numpy as np
import pytest

from fractal.tasks._expressions import Limits, draw_expressions

OFFICIAL = Limits(depth=10, arguments=10, shorter=500, longer=2000)
SHORT = Limits(depth=4, arguments=5, shorter=3, longer=60)


def tree(source):
    """Read the official notation by a stack of open brackets, without regard to parentheses."""
    stack = [[]]
    for word in source.replace("(", "").replace(")", "").split():
        if word.startswith("["):
            stack.append([word])
        elif word == "]":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(int(word))
    ((root,),) = stack
    return root


def value(node):
    if isinstance(node, int):
        return node
    operator, *arguments = node
    values = [value(argument) for argument in arguments]
    return {
        "[MIN": lambda: min(values),
        "[MAX": lambda: max(values),
        "[MED": lambda: int(statistics.median(values)),
        "[SM": lambda: sum(values) % 10,
    }[operator]()


def operators(node, depth=1):
    """(depth, name, number of arguments) of all operators."""
    if isinstance(node, list):
        yield depth, node[0], len(node) - 1
        for child in node[1:]:
            yield from operators(child, depth + 1)


def leaves(node, depth=1):
    if isinstance(node, int):
        yield depth
    else:
        for child in node[1:]:
            yield from leaves(child, depth + 1)


@pytest.fixture(scope="module")
def official():
    return draw_expressions(OFFICIAL, "a test", 120)


def test_every_value_is_that_of_an_independent_evaluator(official):
    for one in [*official, *draw_expressions(SHORT, "a test", 3000)]:
        assert one.value == value(tree(one.source))


def test_length_is_the_number_of_tokens_without_parentheses_and_within_the_limits(official):
    for one in official:
        words = one.source.replace("(", "").replace(")", "").split()
        assert one.length == len(words)
        assert 500 < one.length < 2000
    for one in draw_expressions(SHORT, "a test", 300):
        assert 3 < one.length < 60


def test_parentheses_are_nested_to_the_left_with_two_parts_each(official):
    words = official[0].source.split()
    stack = []
    for word in words:
        if word != ")":
            stack.append(word)
            continue
        right, left, opening = stack.pop(), stack.pop(), stack.pop()
        assert opening == "("
        assert "(" not in (left, right)
        assert left.startswith("[") or left == "pair"
        stack.append("value" if right == "]" else "pair")
    assert stack == ["value"]


def test_operators_stand_at_depths_1_to_9_and_digits_at_2_to_10(official):
    trees = [tree(one.source) for one in official]
    depths = {depth for root in trees for depth, _, _ in operators(root)}
    digits = {depth for root in trees for depth in leaves(root)}
    assert depths == set(range(1, 10))
    assert digits == set(range(2, 11))


def test_operators_and_arities_are_uniform(official):
    found = [one for root in official for one in operators(tree(root.source))]
    names = collections.Counter(name for _, name, _ in found)
    share = np.array([names[name] for name in ("[MIN", "[MAX", "[MED", "[SM")]) / len(found)
    np.testing.assert_allclose(share, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / len(found)))
    # The limits on the length favor large arities near the root, so look far below it.
    arities = collections.Counter(count for depth, _, count in found if depth == 9)
    total = sum(arities.values())
    assert set(arities) == set(range(2, 11))
    share = np.array([arities[count] for count in range(2, 11)]) / total
    np.testing.assert_allclose(share, 1 / 9, atol=4 * np.sqrt(1 / 9 * 8 / 9 / total))


def test_a_quarter_of_the_nodes_below_a_deep_operator_are_operators():
    """Far below the root the limits on the length hardly matter."""
    roots = [tree(one.source) for one in draw_expressions(OFFICIAL, "another", 60)]
    eighth = [
        node
        for root in roots
        for depth, node in itertools.chain.from_iterable(_nodes(root))
        if depth == 8
    ]
    children = [isinstance(child, list) for node in eighth for child in node[1:]]
    assert abs(np.mean(children) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(children))


def _nodes(node, depth=1):
    if isinstance(node, list):
        yield [(depth, node)]
        for child in node[1:]:
            yield from _nodes(child, depth + 1)


def test_unlimited_expressions_have_the_sizes_that_a_brute_force_sampler_gives():
    """A tree drawn whole and then accepted or not: the same distribution as one given up early."""
    rng = np.random.default_rng(0)

    def size(depth):
        if depth == SHORT.depth or rng.random() > 0.25:
            return 1
        return 2 + sum(size(depth + 1) for _ in range(rng.integers(2, SHORT.arguments + 1)))

    brute = [length for length in (size(1) for _ in range(40_000)) if 3 < length < 60]
    ours = [one.length for one in draw_expressions(SHORT, "sizes", len(brute))]
    error = np.hypot(np.std(brute), np.std(ours)) / np.sqrt(len(brute))
    assert abs(np.mean(brute) - np.mean(ours)) < 4 * error


def test_the_seed_decides_everything():
    assert draw_expressions(SHORT, "1/0", 50) == draw_expressions(SHORT, "1/0", 50)
    assert draw_expressions(SHORT, "1/0", 50) != draw_expressions(SHORT, "1/1", 50)
