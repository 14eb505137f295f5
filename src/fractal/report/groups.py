"""Runs grouped by their settings: the runs of a group differ only in the seed."""

from collections.abc import Sequence
from typing import NamedTuple

from .._run_folder import number_of
from .runs import Run

# Settings that do not distinguish models.
_PLACES = ("seed", "data.folder", "data.task")


class Group(NamedTuple):
    """Runs that differ in their seed only."""

    name: str
    runs: list[Run]

    @property
    def first(self) -> Run:
        """The run whose predictions are shown: the first with predictions, or the first."""
        return next((run for run in self.runs if run.predictions is not None), self.runs[0])

    def class_names(self, size: int) -> list[str]:
        """The labels of a user's file, or numbers."""
        names = self.first.settings.get("data.classes")
        if isinstance(names, list) and len(names) == size:
            return [str(name) for name in names]
        return [str(index) for index in range(size)]


def grouped(runs: Sequence[Run]) -> list[Group]:
    """Groups of runs that differ only in the seed, named by the settings that distinguish them."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        key = {name: value for name, value in run.settings.items() if name != "seed"}
        found.setdefault(repr(sorted(key.items(), key=lambda item: item[0])), []).append(run)
    groups = [sorted(own, key=lambda run: number_of(run.seed)) for own in found.values()]
    names = [_name(own[0], groups) for own in groups]
    if len(set(names)) < len(names):
        names = [own[0].folder.name for own in groups]
    if len(set(names)) < len(names):
        names = [str(own[0].folder) for own in groups]
    return [Group(*pair) for pair in zip(names, groups, strict=True)]


def _name(run: Run, groups: Sequence[Sequence[Run]]) -> str:
    """Model, task if there are several, and up to three settings that differ."""
    several = len({own[0].task for own in groups}) > 1
    start = f"{run.task}, {run.model}" if several else run.model
    alike = [own[0] for own in groups if (own[0].task, own[0].model) == (run.task, run.model)]
    parts = [
        f"{name.rsplit('.', 1)[-1]} {run.settings.get(name)}"
        for name in differing(alike)
        if name not in _PLACES
    ]
    return ", ".join([start, *parts[:3]])


def differing(runs: Sequence[Run]) -> list[str]:
    """Names of settings that are not the same in all runs."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    return [name for name in names if len({repr(run.settings.get(name)) for run in runs}) > 1]
