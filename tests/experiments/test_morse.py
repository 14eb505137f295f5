"""Morse code: the signals against a decoder that measures how long they are on and off."""

import itertools

import numpy as np
import pytest

from experiments import morse


def decoded(signal, unit):
    """The symbol with these marks, by their lengths in units; gaps within it last one unit."""
    runs = [(bit, len(list(some)) / unit) for bit, some in itertools.groupby(signal)]
    while runs and runs[0][0] == 0:
        runs.pop(0)
    assert runs[-1] == (0, 3), "a symbol ends with three units of silence"
    assert all(length == 1 for bit, length in runs[:-1] if bit == 0)
    marks = "".join({1: ".", 3: "-"}[length] for bit, length in runs if bit == 1)
    (symbol,) = [name for name, code in morse.CODE.items() if code == marks]
    return symbol


@pytest.mark.parametrize(("repeats", "pause"), [(1, 0), (10, 0), (10, 30), (40, 0)])
def test_every_symbol_can_be_decoded_at_every_speed_and_after_a_pause(repeats, pause):
    found = morse.signals(repeats, pause)
    assert len(found.lengths) == 43
    symbols = [
        decoded(one[:length, 0].tolist(), repeats)
        for one, length in zip(found.inputs, found.lengths, strict=True)
    ]
    assert symbols == list(morse.CODE)
    assert found.dt == morse.TRAINED / repeats
    assert not found.inputs[:, :pause].any()


def test_uneven_speed_changes_only_how_long_each_bit_lasts():
    conditions = morse.conditions(0)
    uneven = conditions["5 to 20 for each bit"]
    rng = np.random.default_rng([0, 1])
    for symbol, one, length in zip(morse.CODE, uneven.inputs, uneven.lengths, strict=True):
        bits = morse.bits(symbol)
        times = rng.integers(5, 21, len(bits))
        expected = [bit for bit, count in zip(bits, times, strict=True) for _ in range(count)]
        assert one[:length, 0].tolist() == expected


def test_there_are_two_shapes_to_compile():
    assert {one.inputs.shape[1] for one in morse.conditions(0).values()} == {220, 880}
