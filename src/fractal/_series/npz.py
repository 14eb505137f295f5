"""`.npz` files of arrays: series, labels and times by name. Nothing is unpickled."""

import pathlib
import zipfile
from collections.abc import Sequence

import numpy as np
from jaxtyping import Num

from .._bounds import check_memory
from .._errors import UserError
from .content import Cases, described, label_text, regular_interval

SERIES = ("X", "x", "series", "data", "values")
_LABELS = ("y", "labels", "label", "target", "targets")


def read_arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
    """All arrays of a file by name."""
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(entry.file_size for entry in file.infolist())
        check_memory(2.0 * size, str(path))
        with np.load(path, allow_pickle=False) as file:
            found = {}
            for name in file.files:
                try:
                    found[name] = file[name]
                except ValueError:
                    raise UserError(
                        f"{path}: the array {name!r} holds Python objects; pad series of unequal "
                        "length with NaN, or use a .ts file"
                    ) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} is not an .npz file") from None
    return found


def read_npz(path: pathlib.Path, labels: str | None = None, labeled: bool = True) -> Cases:
    """The cases of a file with an array X, and y where it has labels.

    X has the shape (cases, time) or (cases, channels, time). Series of unequal length end in NaN.

    **Arguments:**

    - `labels`: name of the array of labels.
    - `labeled`: whether all cases must have a label, if the file has labels.
    """
    arrays = read_arrays(path)
    X = values_of(path, arrays, SERIES)
    if X.ndim not in (2, 3) or 0 in X.shape:
        raise UserError(
            f"{path}: X must have the shape (cases, time) or (cases, channels, time), got {X.shape}"
        )
    X = X[:, None] if X.ndim == 2 else X
    y = _labels(path, arrays, len(X), labels, labeled)
    times = arrays.get("times")
    if times is not None and (times.shape != (len(X), X.shape[2]) or times.dtype.kind not in "iuf"):
        raise UserError(f"{path}: times must be numbers of shape ({len(X)}, {X.shape[2]})")
    lengths = [_length(one) for one in X]
    for row, length in enumerate(lengths, 1):
        if not length:
            raise UserError(f"{path}, case {row}: has no values")
        if np.isinf(X[row - 1]).any():
            raise UserError(f"{path}, case {row}: X is not finite")
    series = [one[:, :length].astype(np.float64) for one, length in zip(X, lengths, strict=True)]
    ends = []
    if times is not None:
        ends = [one[:length].astype(float) for one, length in zip(times, lengths, strict=True)]
    for row, one in enumerate(ends, 1):
        if not np.isfinite(one).all() or (np.diff(one) <= 0).any():
            raise UserError(f"{path}, case {row}: times must be finite and increase")
    interval = regular_interval(ends)
    names = [f"channel {index}" for index in range(1, X.shape[1] + 1)]
    return Cases(
        series,
        y,
        None,
        ends if ends and interval is None else None,
        names,
        described(series),
        interval=interval,
    )


def values_of(
    path: pathlib.Path, arrays: dict[str, np.ndarray], names: Sequence[str]
) -> Num[np.ndarray, "..."]:
    """The first array of one of the names, which must be of real numbers."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        held = ", ".join(arrays) or "none"
        raise UserError(f"{path}: has no array {names[0]}; its arrays: {held}")
    if arrays[name].dtype.kind not in "biuf":
        raise UserError(f"{path}: the array {name!r} must be of real numbers")
    return arrays[name]


def _labels(
    path: pathlib.Path,
    arrays: dict[str, np.ndarray],
    cases: int,
    given: str | None,
    labeled: bool,
) -> list[str] | None:
    """The labels as text, empty for a case without one; None where no case has one."""
    if given is not None and given not in arrays:
        raise UserError(f"{path}: has no array {given!r}: {', '.join(arrays)}", argument="target")
    name = given or next((name for name in _LABELS if name in arrays), None)
    if name is None:
        return None
    y = arrays[name]
    if y.shape != (cases,):
        raise UserError(f"{path}: {name} must have the shape ({cases},), got {y.shape}")
    if y.dtype.kind not in "biufU":
        raise UserError(f"{path}: {name} must be of numbers or text")
    missing = ~np.isfinite(y) if y.dtype.kind == "f" else np.asarray(y.astype(str) == "")
    if labeled and missing.any():
        raise UserError(f"{path}, case {int(missing.argmax()) + 1}: {name} has no label")
    text = [
        "" if none else label_text(str(label)) if y.dtype.kind == "f" else str(label)
        for label, none in zip(y.tolist(), missing, strict=True)
    ]
    return text if any(text) else None


def _length(case: np.ndarray) -> int:
    """Number of steps before the NaN at the end."""
    there = np.asarray(~np.isnan(case.astype(np.float64)).all(axis=0))
    return len(there) - int(there[::-1].argmax()) if there.any() else 0
