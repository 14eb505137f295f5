"""`fractal report`: one HTML page of runs, or of claims and evidence."""

import dataclasses
import pathlib
import sys
from typing import Annotated

import tyro

from .._errors import UserError
from .._files import write_whole
from .parse import NO_HINT
from .plugins import import_plugins

_BENCHMARKS = pathlib.Path("benchmarks")


@dataclasses.dataclass(frozen=True)
class Report:
    """Write one HTML page of your runs, or, without runs, of the claims and the evidence.

    The page needs no network. Of runs it shows scores over seeds, learning curves, settings that
    differ, predictions on the test set, the worst examples, speed, memory and provenance.

    Example: fractal report runs/compare-listops-mini

    Args:
        runs: run folders, folders of runs, or folders of `fractal compare`.
        out: folder for the page, index.html.
        data: folder with the data of the runs, whose inputs are shown; by default the cache.
        benchmarks: folder with the output of `fractal bench … --json`, without runs only.
        plugin: Python file or module that registers models and tasks.
    """

    runs: Annotated[tuple[pathlib.Path, ...], tyro.conf.Positional, NO_HINT] = ()
    out: pathlib.Path = pathlib.Path("report")
    data: pathlib.Path | None = None
    benchmarks: pathlib.Path = _BENCHMARKS
    plugin: tyro.conf.UseAppendAction[tuple[str, ...]] = ()

    def run(self) -> int:
        if self.out.exists() and not self.out.is_dir():
            raise UserError(f"{self.out} is a file, not a folder", argument="out")
        html = self._runs() if self.runs else self._evidence()
        path = self.out / "index.html"
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            write_whole(path, html.encode())
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None
        print(path)
        return 0

    def _runs(self) -> str:
        from ..report.run_page import runs_page  # matplotlib is slow to load

        if self.benchmarks != _BENCHMARKS:
            raise UserError("cannot be combined with runs", argument="benchmarks")
        import_plugins(self.plugin)
        return runs_page(self.runs, data=self.data)

    def _evidence(self) -> str:
        from ..report.evidence import evidence_page
        from ..report.speed import BENCHMARKS

        for name in ("plugin", "data"):
            if getattr(self, name):
                raise UserError("requires at least one run", argument=name)
        folder = self.benchmarks
        # The default folder exists in a clone only.
        if folder != _BENCHMARKS and not folder.is_dir():
            raise UserError(f"{folder}: no such folder", argument="benchmarks")
        html = evidence_page(folder)
        absent = [name for name in BENCHMARKS if not (folder / f"{name}.json").is_file()]
        if absent:
            files = ", ".join(f"{name}.json" for name in absent)
            message = f"missing in {folder}: {files}; written by: fractal bench NAME --json"
            print(message, file=sys.stderr)
        return html
