"""The file that `fractal report` writes: a page about runs, or about the paper's claims."""

import os
import pathlib
from collections.abc import Iterable

from .._checks import check_path
from .._errors import UserError
from .._files import write_whole
from .speed import DEFAULT_FOLDER


def write_report(
    runs: str | os.PathLike | Iterable[str | os.PathLike] = (),
    out: str | os.PathLike = "report",
    *,
    data: str | os.PathLike | None = None,
    benchmarks: str | os.PathLike | None = None,
) -> pathlib.Path:
    """Write one self-contained HTML page, as `fractal report` does.

    For runs it shows scores over seeds, learning curves, settings that differ, predictions on the
    test set, the examples with the largest loss, speed, memory and provenance. Without runs it
    shows the claims of the paper with measured values, figures and benchmarks.

    **Arguments:**

    - `runs`: one or several run folders, folders of runs, or folders of `fractal.train.compare`.
    - `out`: folder for the page; created where it does not exist.
    - `data`: folder with the data of the runs, whose inputs are shown; by default the cache.
    - `benchmarks`: folder with the output of `fractal bench … --json`, without runs only; by
      default `benchmarks` in the current folder.

    **Returns:** the path of the page, `index.html` in `out`.

    **Raises:** `ValueError` for an invalid argument or an unusable file; an earlier page is kept.
    """
    folder = check_path("out", out)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder", argument="out")
    found = _paths(runs)
    html = _of_runs(found, data, benchmarks) if found else _of_evidence(data, benchmarks)
    path = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, html.encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    return path


def _paths(runs: object) -> list[pathlib.Path]:
    if not isinstance(runs, Iterable) or isinstance(runs, str | bytes | os.PathLike):
        runs = [runs]
    return [check_path("runs", run) for run in runs]


def _of_runs(
    runs: list[pathlib.Path],
    data: str | os.PathLike | None,
    benchmarks: str | os.PathLike | None,
) -> str:
    if benchmarks is not None:
        raise UserError("cannot be combined with runs", argument="benchmarks")
    from .pages.run_page import runs_page  # matplotlib is slow to load, and an extra

    return runs_page(runs, data=None if data is None else check_path("data", data))


def _of_evidence(data: str | os.PathLike | None, benchmarks: str | os.PathLike | None) -> str:
    if data is not None:
        raise UserError("requires at least one run", argument="data")
    folder = DEFAULT_FOLDER if benchmarks is None else check_path("benchmarks", benchmarks)
    # The default folder exists in a clone only.
    if benchmarks is not None and not folder.is_dir():
        raise UserError(f"{folder}: no such folder", argument="benchmarks")
    from .pages.evidence import evidence_page  # matplotlib is slow to load, and an extra

    return evidence_page(folder)
