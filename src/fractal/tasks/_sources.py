"""Where the data of a task comes from: its authors, a registry package, or the Hub."""

import dataclasses
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from ._errors import DataError, MissingData, Unavailable
from ._folders import cache_folder, check_folder
from ._hub import fetch_from_hub, hub_folder
from ._official import Official
from ._package import Package
from ._registry import Source


@dataclasses.dataclass(frozen=True)
class Sources:
    """The sources of a task's data, in order of preference.

    - `task`: name of the task.
    - `official`: the files of the data's authors.
    - `package`: a registry package with a complete copy.
    - `repository`: name of the dataset on the Hugging Face Hub.
    - `write`: writes that dataset into a folder in a layout that the task reads.
    """

    task: str
    official: Official
    package: Package
    repository: str
    write: Callable[[Any, pathlib.Path], None]

    @property
    def folders(self) -> dict[str, pathlib.Path]:
        """The folder in the cache for each source."""
        return {
            "official": cache_folder() / "fetched" / f"official-{self.task}",
            "package": self.package.folder,
            "hub": hub_folder(self.repository),
        }

    def fetch(self, source: Source) -> pathlib.Path:
        """Download the data into the cache unless it is there, and return its folder."""
        chosen = tuple(self.folders) if source == "auto" else (source,)
        for name in chosen:
            if self.folders[name].is_dir():
                return self.folders[name]
        for name in chosen:
            try:
                self._fetch(name)
                return self.folders[name]
            except Unavailable as error:
                if source != "auto":
                    raise
                print(f"source {name!r} passed over: {error}", file=sys.stderr)
        raise DataError(
            f"none of the sources {', '.join(chosen)} has the data of task {self.task!r}; see above"
        )

    def _fetch(self, source: str) -> None:
        match source:
            case "official":
                self.official.fetch(self.folders["official"])
            case "package":
                self.package.fetch()
            case _:
                fetch_from_hub(self.repository, self.write)

    def folder(self, data: pathlib.Path | None) -> pathlib.Path:
        """The folder to read: `data`, or the first in the cache."""
        if data is not None:
            return check_folder("data", data)
        for folder in self.folders.values():
            if folder.is_dir():
                return folder
        raise MissingData(self.task, "fetch")
