"""The tasks by name."""

import os
import pathlib
from collections.abc import Callable

from .._checks import check_name
from . import image, listops, pathfinder, retrieval, smnist, text
from ._request import Preset, Request, Validation
from ._task import Task

_LOADERS: dict[str, Callable[[Request], Task]] = {
    "listops": listops.load,
    "text": text.load,
    "retrieval": retrieval.load,
    "image": image.load,
    "pathfinder": pathfinder.load,
    "pathx": pathfinder.load_pathx,
    "smnist": smnist.load,
    "psmnist": smnist.load_permuted,
}
NAMES = tuple(_LOADERS)


def load(
    name: str,
    preset: Preset = "paper",
    data: str | os.PathLike | None = None,
    validation: Validation = "held-out",
    workers: int = 1,
) -> Task:
    """A task, ready to be read.

    **Arguments:**

    - `name`: one of `NAMES`.
    - `preset`: `"mini"`, a size for a laptop, or `"paper"`, that of the published results.
    - `data`: the folder with the data: the official release, or what `fractal data` has written.
      Without one, what `fractal data` has fetched; `mini` tasks that are generated need none.
    - `validation`: `"held-out"`, a tenth of the training set where a task has no validation set of
      its own, or `"test"`, the test set itself, as published results on IMDB have it.
    - `workers`: processes for generating data.

    **Returns:** a `Task`. Raises `DataError` when the data is missing or damaged.
    """
    check_name("task", name, NAMES)
    folder = None if data is None else pathlib.Path(data)
    return _LOADERS[name](Request(preset, folder, validation, workers))
