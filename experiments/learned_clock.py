"""The experiments on speed and selective rates as tables: Morse code, speech, synthetic, mini."""

import math
from collections.abc import Iterable, Mapping, Sequence

from fractal.report.table import Cell, Goal, Spread, Table, spread, value

from .results import Line, stale_note
from .summaries import command, grouped, over, trained_at_chance

RESCALED = ", rescaled Δ"
_TESTS = {"morse": 43, "speech": 300}
_CHANCE = {
    "morse": 1 / 43,
    "speech": 1 / 10,
    "selective copying": 1 / 14,
    "induction heads": 1 / 15,
}
_TENTHS = "Late loss: training loss over the last tenth of the steps."


def at_chance(cell: Cell, task: str) -> bool:
    """Whether an accuracy is not clearly above that of guessing."""
    chance = _CHANCE.get(task, 0.0)
    noise = 2 * math.sqrt(chance * (1 - chance) / _TESTS.get(task, 512))
    deviation = cell.deviation if isinstance(cell, Spread) else None
    return cell is not None and value(cell) <= chance + max(noise, deviation or 0.0)


def conditions(lines: Iterable[Line]) -> list[str]:
    """All conditions of a test, without those with rescaled Δ."""
    names = dict.fromkeys(name for line in lines for name in line["accuracy"])
    return [name for name in names if not name.endswith(RESCALED)]


def by_condition(seeds: Sequence[Line], names: Iterable[str], rescaled: bool) -> list[Cell]:
    """Accuracies under these conditions; with rescaled Δ where that makes a difference."""
    cells: list[Cell] = []
    for name in names:
        label = f"{name}{RESCALED}" if rescaled else name
        found = [line["accuracy"].get(label, line["accuracy"].get(name)) for line in seeds]
        known = [one for one in found if one is not None]
        cells.append(spread(known) if known else None)
    return cells


def variants(seeds: Sequence[Line]) -> list[tuple[str, bool]]:
    """Suffixes of a model's name: as it is, and with rescaled Δ where it was measured."""
    rescaled = any(name.endswith(RESCALED) for line in seeds for name in line["accuracy"])
    return [("", False), (RESCALED, True)] if rescaled else [("", False)]


def _accuracies(
    lines: Sequence[Line], task: str, keys: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[Cell, ...]], frozenset[tuple[int, int]]]:
    """Header, rows and cells at chance of a table with a column per condition."""
    names = conditions(lines)
    rows: list[tuple[Cell, ...]] = []
    for (*place, model), seeds in grouped(lines, *keys, "model").items():
        size = (round(over(seeds, "parameters").mean), len(seeds))
        for suffix, rescaled in variants(seeds):
            cells = by_condition(seeds, names, rescaled)
            rows.append((*place, f"{model}{suffix}", *size, *cells))
    first = len(keys) + 3
    chance = frozenset(
        (line, column)
        for line, row in enumerate(rows)
        for column in range(first, len(row))
        if at_chance(row[column], task)
    )
    return (*keys, "model", "parameters", "seeds", *names), rows, chance


def morse(lines: Sequence[Line]) -> Table:
    """Accuracy by the number of repeats of a bit."""
    header, rows, chance = _accuracies(lines, "morse", ())
    best: Mapping[str, Goal] = dict.fromkeys(header[3:], "highest")
    return Table(
        "Morse code, trained with every bit repeated 10 times: accuracy by repeats in the test",
        header,
        rows,
        command("morse"),
        "43 symbols. Pause: steps of silence before a symbol. Rescaled Δ: the step size is "
        f"multiplied by the known factor. {stale_note('morse', lines)}",
        best,
        chance=chance,
    )


def speech(lines: Sequence[Line]) -> Table:
    """Accuracy by speed, tempo and pause."""
    header, rows, chance = _accuracies(lines, "speech", ("rate", "split"))
    best: Mapping[str, Goal] = dict.fromkeys(header[5:], "highest")
    return Table(
        "Spoken digits by raw waveform: accuracy at other speeds and after a pause",
        header,
        rows,
        command("speech"),
        "Speed s: as many samples as at 1/s times the sampling rate, which is known with rescaled "
        "Δ. Tempo: the pitch stays. Rate: samples per second in training. Split: official, or "
        f"without the last speaker. {stale_note('speech', lines)}",
        best,
        ("rate", "split"),
        chance=chance,
    )


def synthetic(lines: Sequence[Line]) -> Table:
    """Selective copying and induction heads."""
    rows: list[tuple[Cell, ...]] = [
        (
            task, length, model, round(over(seeds, "parameters").mean), steps, len(seeds),
            over(seeds, "late_loss"), over(seeds, "test_accuracy"), _longer(seeds),
        )
        for (task, length, model, steps), seeds in grouped(
            lines, "task", "length", "model", "steps"
        ).items()
    ]  # fmt: skip
    header = (
        "task", "length", "model", "parameters", "steps", "seeds", "late loss", "test accuracy",
        "at length 4,096",
    )  # fmt: skip
    chance = frozenset(
        (i, k) for i, row in enumerate(rows) for k in (7, 8) if at_chance(row[k], str(row[0]))
    )
    return Table(
        "Selective copying and induction heads",
        header,
        rows,
        command("synthetic"),
        f"Chance: 1/14 and 1/15. {_TENTHS} {stale_note('synthetic', lines)}",
        {"test accuracy": "highest", "at length 4,096": "highest"},
        ("task", "length", "steps"),
        chance=chance,
    )


def induction(lines: Sequence[Line]) -> Table:
    """Induction heads after training on growing lengths."""
    lengths = ("1024", "4096")
    rows: list[tuple[Cell, ...]] = [
        (
            model, round(over(seeds, "parameters").mean), steps, len(seeds),
            over(seeds, "test_accuracy"), *(_longer(seeds, length) for length in lengths),
        )
        for (model, steps), seeds in grouped(lines, "model", "steps").items()
    ]  # fmt: skip
    tested = tuple(f"length {int(length):,}" for length in ("256", *lengths))
    header = ("model", "parameters", "steps", "seeds", *tested)
    chance = frozenset(
        (i, k)
        for i, row in enumerate(rows)
        for k in range(4, len(header))
        if at_chance(row[k], "induction heads")
    )
    return Table(
        "Induction heads, trained on lengths that double from 16 to 256: test accuracy",
        header,
        rows,
        command("induction"),
        f"Chance: 1/15. {stale_note('induction', lines)}".strip(),
        dict.fromkeys(tested, "highest"),
        ("steps",),
        chance=chance,
    )


def _longer(seeds: Sequence[Line], length: str = "4096") -> Cell:
    """Accuracy at a length of models that were trained at a smaller one."""
    found = [line["longer"][length] for line in seeds if length in line["longer"]]
    return spread(found) if found else None


def selective(lines: Sequence[Line]) -> Table:
    """Fixed and selective rates with both clocks."""
    return _rates(lines, "selective", "Fixed and selective rates on the mini tasks")


def full_budget(lines: Sequence[Line]) -> Table:
    """Fixed and selective rates with the model and the steps of a preset."""
    title = "Fixed and selective rates with the model and the steps of the preset `mini`"
    return _rates(lines, "full_budget", title)


def _rates(lines: Sequence[Line], name: str, title: str) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            task, clock, rate, round(over(seeds, "parameters").mean), steps, len(seeds),
            over(seeds, "early_loss"), over(seeds, "late_loss"), over(seeds, "test_accuracy"),
        )
        for (task, clock, rate, steps), seeds in grouped(
            lines, "task", "clock", "rate", "steps"
        ).items()
    ]  # fmt: skip
    header = (
        "task", "clock", "rate", "parameters", "steps", "seeds", "early loss", "late loss",
        "test accuracy",
    )  # fmt: skip
    return Table(
        title,
        header,
        rows,
        command(name),
        "Early and late loss: training loss over the first and the last tenth of the steps. "
        f"{stale_note(name, lines)}",
        {"late loss": "lowest", "test accuracy": "highest"},
        ("task", "steps"),
        chance=trained_at_chance(header, rows),
    )
