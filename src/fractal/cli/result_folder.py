"""The folder that `fractal fit` and `fractal forecast` write: model, metrics and report page."""

import contextlib
import json
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
    """The folder for the results, which must not exist yet or be empty."""
    folder = pathlib.Path("runs") / default if out is None else out
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder", argument="out")
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty: choose another folder", argument="out")
    return folder


@contextlib.contextmanager
def whole_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder to write into, which becomes `folder` at the end; nothing is left after an error."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = pathlib.Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}", argument="out") from None
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        os.replace(temporary, folder)  # an empty folder may stand there
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


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
    (folder / CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False))
    lines = "".join(json.dumps(line) + "\n" for line in history)
    (folder / METRICS).write_text(lines)
    (folder / RESULT).write_text(json.dumps({**result, "provenance": provenance()}, indent=2))
    if predictions is not None:
        write_predictions(folder, predictions)


def write_page(folder: pathlib.Path) -> str | None:
    """The report page of the run in the folder; why there is none, if its extra is missing."""
    from .._extras import MissingExtra

    try:
        from ..report import write_report

        write_report([folder], folder)
    except MissingExtra as error:
        return f"no report page: {error}"
    return None
