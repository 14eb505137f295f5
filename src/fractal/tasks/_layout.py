"""The folders of the official Long Range Arena release."""

import pathlib
from collections.abc import Sequence

from ._errors import DataError
from ._folders import check_folder

_ROOTS = ("", "lra_release", "lra_release/lra_release")


def find(data: pathlib.Path, names: Sequence[str], holds: str) -> pathlib.Path:
    """The first of the folders `names` below the root of the release that holds the file `holds`.

    `data` is that root, or a folder above it.
    """
    check_folder("data", data)
    for root in _ROOTS:
        for name in names:
            if (data / root / name / holds).exists():
                return data / root / name
    named = " or ".join(f"{name}/{holds}" if name else holds for name in names)
    raise DataError(f"{data} holds no {named}", argument="data")
