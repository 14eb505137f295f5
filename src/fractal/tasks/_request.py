"""The options with which a task is loaded."""

import dataclasses
import pathlib
from typing import Literal, get_args

from .._checks import check_choice, check_path, check_workers

Preset = Literal["mini", "laptop", "paper"]
Validation = Literal["held-out", "test"]


@dataclasses.dataclass(frozen=True)
class Request:
    """Options of `load`, as a loader receives them.

    - `preset`: `"mini"` (default), small and short; `"paper"`, the size of the published results;
      or `"laptop"`, that size too, generated where it can be.
    - `data`: folder with the data, or None.
    - `validation`: `"held-out"`, a tenth of the training set where a task has no validation set of
      its own, or `"test"`, the test set, as in published results on IMDB.
    - `workers`: number of processes that generate data.
    """

    preset: Preset = "mini"
    data: pathlib.Path | None = None
    validation: Validation = "held-out"
    workers: int = 1

    def __post_init__(self):
        check_choice("preset", self.preset, get_args(Preset))
        check_choice("validation", self.validation, get_args(Validation))
        if self.data is not None:
            object.__setattr__(self, "data", check_path("data", self.data))
        object.__setattr__(self, "workers", check_workers(self.workers))
