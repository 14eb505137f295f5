"""Curriculum: the batches of easier tasks for the first steps, then those of the task itself."""

import contextlib
import itertools
from collections.abc import Generator, Sequence

from .. import tasks
from .._checks import check_name
from .._errors import UserError
from ..tasks import Batch, Batches, Task

_SHARE = 0.3  # of all steps, for the easier tasks together


class Curriculum:
    """Stages of training, each with batches of its own.

    As with `Batches`, a batch is a function of its number alone, so that a run can be resumed in
    any stage.
    """

    def __init__(self, easier: Sequence[Batches], last: Batches, steps: int):
        """
        **Arguments:**

        - `easier`: batches of the first stages, which have equal numbers of steps.
        - `last`: batches of all further steps.
        - `steps`: number of all steps.
        """
        each = round(_SHARE * steps / len(easier)) if easier else 0
        self._stages = [(each * i, batches) for i, batches in enumerate([*easier, last])]

    def stream(self, start: int = 0) -> Generator[Batch, None, None]:
        """An endless stream of the batches from number `start` on."""
        ends = [begin for begin, _ in self._stages[1:]]
        for (begin, batches), end in itertools.zip_longest(self._stages, ends):
            if end is not None and end <= start:
                continue
            first = max(start, begin)
            with contextlib.closing(batches.stream(first - begin)) as stream:
                yield from itertools.islice(stream, None if end is None else end - first)


def check_names(names: Sequence[str]) -> None:
    """Raise `UserError` if there is no task of one of these names."""
    for name in names:
        try:
            check_name("task", name, tasks.names())
        except UserError as error:
            raise UserError(error.message, argument="data.curriculum") from None


def check_stage(stage: Task, task: Task) -> None:
    """Raise `UserError` if a model of `task` cannot be trained on `stage`."""
    for name in ("kind", "length", "inputs", "outputs", "tokens"):
        found, wanted = getattr(stage, name), getattr(task, name)
        if found != wanted:
            raise UserError(
                f"{stage.name} has {name} {found}, and {task.name} {wanted}: they must agree",
                argument="data.curriculum",
            )
