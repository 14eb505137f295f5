"""Selective copying and induction heads, against solvers that read token by token."""

import numpy as np
import pytest

from experiments import synthetic


def copied(tokens):
    """What is neither noise nor marker, in order."""
    return [t for t in tokens if t not in (synthetic.NOISE, synthetic.MARKER)]


def followed(tokens):
    """The token after the first special one."""
    for at, token in enumerate(tokens[:-1]):
        if token == synthetic.MARKER:
            return [tokens[at + 1]]
    raise AssertionError("there is no special token")


@pytest.mark.parametrize(
    ("task", "solve", "extra"),
    [("selective copying", copied, 16), ("induction heads", followed, 0)],
)
def test_the_labels_are_what_a_solver_finds(rng, task, solve, extra):
    drawn = synthetic.TASKS[task](rng, 50, 64)
    assert drawn.inputs.shape == (50, 64 + extra)
    assert [solve(row) for row in drawn.inputs.tolist()] == drawn.labels.tolist()
    assert drawn.inputs.min() >= 0
    assert drawn.inputs.max() < synthetic.IDS


def test_markers_ask_for_every_copied_token_and_places_vary(rng):
    drawn = synthetic.selective_copying(rng, 200, 64)
    assert (drawn.inputs[:, 64:] == synthetic.MARKER).all()
    noise = (drawn.inputs[:, :64] == synthetic.NOISE).mean(axis=0)
    assert np.abs(noise - 48 / 64).max() < 0.15


def test_the_special_token_stands_twice_and_anywhere_but_at_the_end(rng):
    drawn = synthetic.induction_heads(rng, 2000, 16)
    special = drawn.inputs == synthetic.MARKER
    assert (special.sum(axis=1) == 2).all()
    assert special[:, -1].all()
    assert set(special[:, :-1].argmax(axis=1)) == set(range(14))
