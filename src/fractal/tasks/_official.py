"""Data from the servers of its authors, checked against the published checksums."""

import dataclasses
import logging
import pathlib
import re
import sys
import tempfile
import urllib.parse
from typing import Any

from ._archives import unpack
from ._errors import Unavailable
from ._folders import staged
from ._network import reason, require_answer, require_package

_STALLED = 60  # seconds without data in the middle of a download
_CHUNK = 1 << 18


@dataclasses.dataclass(frozen=True)
class File:
    """A file on a server, and its checksum as `"md5:…"` or `"sha256:…"`."""

    url: str
    checksum: str


@dataclasses.dataclass(frozen=True)
class Official:
    """Files on the authors' servers.

    - `files`: what is downloaded.
    - `members`: regular expression of the files that are kept from a .tar.gz archive, with their
      folders; None keeps the downloaded files as they are.
    """

    files: tuple[File, ...]
    members: str | None = None

    def fetch(self, folder: pathlib.Path) -> None:
        """Download into a new folder."""
        require_package("pooch")
        require_answer(self.files[0].url)
        with staged(folder, replaceable=True) as temporary:
            if self.members is None:
                for file in self.files:
                    _download(file, temporary)
                return
            pattern = re.compile(self.members)
            with tempfile.TemporaryDirectory(dir=temporary) as download:
                for file in self.files:
                    archive = _download(file, pathlib.Path(download))
                    if not unpack(archive, lambda name: _matching(pattern, name), temporary):
                        raise Unavailable(f"{file.url} contains none of the expected files")


def _matching(pattern: re.Pattern[str], name: str) -> str | None:
    return name if pattern.fullmatch(name) else None


def _download(file: File, folder: pathlib.Path) -> pathlib.Path:
    import pooch
    import requests

    address = urllib.parse.urlsplit(file.url)
    name = pathlib.PurePosixPath(address.path).name
    print(f"downloading {name} from {address.hostname}", file=sys.stderr)
    pooch.get_logger().setLevel(logging.WARNING)
    downloader: Any = pooch.HTTPDownloader(chunk_size=_CHUNK, timeout=_STALLED)
    try:
        path = pooch.retrieve(
            file.url, file.checksum, fname=name, path=folder, downloader=downloader
        )
    except requests.RequestException as error:
        raise Unavailable(f"the download of {file.url} failed ({reason(error)})") from None
    except ValueError:  # of pooch: the checksum differs
        raise Unavailable(
            f"{file.url} is incomplete or altered: its checksum is not {file.checksum}"
        ) from None
    return pathlib.Path(path)
