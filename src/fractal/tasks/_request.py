"""What a user asks for when loading a task."""

import dataclasses
import pathlib
from typing import Literal

Preset = Literal["mini", "paper"]
Validation = Literal["held-out", "test"]


@dataclasses.dataclass(frozen=True)
class Request:
    """
    - `preset`: `"mini"`, a size for a laptop, or `"paper"`, that of the published results.
    - `data`: a folder of the user's: the official release, or what `fractal data` has written.
    - `validation`: `"held-out"`, a tenth of the training set where a task has no validation set of
      its own, or `"test"`, the test set itself, as published results on IMDB have it.
    - `workers`: processes that generate data.
    """

    preset: Preset = "paper"
    data: pathlib.Path | None = None
    validation: Validation = "held-out"
    workers: int = 1
