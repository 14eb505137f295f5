"""Where things stand in the official Long Range Arena release."""

import pathlib
from collections.abc import Sequence

from ._errors import DataError

_ROOTS = ("", "lra_release", "lra_release/lra_release")


def find(data: pathlib.Path, names: Sequence[str], holds: str, advice: str) -> pathlib.Path:
    """The first of the folders `names` below the release's root that holds the file `holds`.

    **Arguments:**

    - `data`: the folder that the user names: the release's root, or one above it.
    - `advice`: how to get what is missing.
    """
    if not data.is_dir():
        raise DataError(f"{data} is not a folder: {advice}")
    for root in _ROOTS:
        for name in names:
            if (data / root / name / holds).exists():
                return data / root / name
    named = " or ".join(f"{name}/{holds}" if name else holds for name in names)
    raise DataError(f"{data} holds no {named}: {advice}")
