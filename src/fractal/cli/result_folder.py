"""The folder that `fractal fit` and `fractal forecast` write: model, metrics and report page."""

import contextlib
import json
import math
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._errors import UserError
from .._predictions import Predictions
from .._provenance import provenance
from .._run_folder import CONFIG, METRICS, RESULT, write_predictions


def check_out(out: pathlib.Path | None, default: str) -> pathlib.Path:
    """The folder for the results, which must not exist yet or be empty; it can be written."""
    folder = pathlib.Path("runs") / default if out is None else out
    try:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file, not a folder", argument="out")
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder} is not empty: choose another folder", argument="out")
        # Permissions do not tell, for example on a file system that is read-only.
        parent = next(one for one in folder.resolve().parents if one.exists())
        os.rmdir(tempfile.mkdtemp(prefix=".fractal.", dir=parent))
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}", argument="out") from None
    return folder


@contextlib.contextmanager
def whole_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder to write into, which becomes `folder` at the end; nothing is left after an error."""
    place = folder.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = pathlib.Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}", argument="out") from None
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    try:
        os.replace(temporary, place)  # an empty folder may be there
    except OSError as error:
        raise UserError(
            f"cannot write {folder}: {error.strerror}; the results are in {temporary}",
            argument="out",
        ) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_run(
    folder: pathlib.Path,
    config: Mapping[str, Any],
    history: Sequence[Mapping[str, float]],
    result: Mapping[str, Any],
    predictions: Predictions | None,
) -> None:
    """Settings, learning curve, scores and predictions, as the folders of runs have them."""
    texts = {
        CONFIG: as_json(config, indent=2),
        METRICS: "".join(as_json(line) + "\n" for line in history),
        RESULT: as_json({**result, "provenance": provenance()}, indent=2),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    if predictions is not None:
        write_predictions(folder, predictions)


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON, in which numbers that are not finite are null."""
    return json.dumps(_finite(value), indent=indent, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_page(folder: pathlib.Path) -> str | None:
    """The report page of the run in the folder; why there is none, if its extra is missing."""
    from .._extras import MissingExtra

    try:
        from ..report import write_report

        write_report([folder], folder)
    except MissingExtra as error:
        return f"no report page: {error}"
    return None
