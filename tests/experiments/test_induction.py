"""Training on growing lengths."""

import pytest

from experiments import induction


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(induction, "LENGTHS", (4, 8))
    monkeypatch.setattr(induction, "LONGER", (16,))
    monkeypatch.setattr(induction, "STEPS", 3)
    monkeypatch.setattr(induction, "TESTS", 8)
    monkeypatch.setattr(induction, "_TOKENS", 32)


def test_all_lengths_are_trained_on_in_turn_and_longer_ones_are_tested(monkeypatch):
    drawn = []
    original = induction.induction_heads

    def draw(rng, count, length):
        drawn.append((length, count))
        return original(rng, count, length)

    monkeypatch.setattr(induction, "induction_heads", draw)
    line = induction.measure("fractal, uniform", 0)
    batch = induction.BATCH
    assert drawn == [(4, batch)] * 3 + [(8, batch)] * 3 + [(8, 4)] * 2 + [(16, 2)] * 4
    assert [step for step, _ in line["curve"]] == [1, 2, 3, 4, 5, 6]
    assert line["steps"] == 6
    assert set(line["longer"]) == {"16"}
    assert 0 <= line["test_accuracy"] <= 1
