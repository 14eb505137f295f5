"""`fractal report`: one HTML page about runs, or about the paper's claims and speed."""

import dataclasses
import pathlib
import sys
from typing import Annotated

import tyro

from .._errors import UserError
from .parse import NO_HINT
from .plugins import import_plugins


@dataclasses.dataclass(frozen=True)
class Report:
    """Write one HTML page about your runs or, without runs, about the paper's claims and speed.

    The page needs no network. For runs it shows scores over seeds, learning curves, settings that
    differ, predictions on the test set, the worst examples, speed, memory and provenance.

    Example: fractal report runs/compare-listops-mini

    Args:
        runs: run folders, folders of runs, or folders of `fractal compare`.
        out: folder for the page, index.html.
        data: folder with the data of the runs, whose inputs are shown; by default the cache.
        benchmarks: folder with the output of `fractal bench … --json`, without runs only; by
            default `benchmarks`.
        plugin: Python file or module that registers models and tasks.
    """

    runs: Annotated[
        tuple[pathlib.Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[RUN …]", help_behavior_hint=""),
    ] = ()
    out: pathlib.Path = pathlib.Path("report")
    data: Annotated[pathlib.Path | None, NO_HINT] = None
    benchmarks: Annotated[pathlib.Path | None, NO_HINT] = None
    plugin: tyro.conf.UseAppendAction[tuple[str, ...]] = ()

    def run(self) -> int:
        from ..report import write_report

        if self.plugin and not self.runs:
            raise UserError("requires at least one run", argument="plugin")
        import_plugins(self.plugin)
        path = write_report(self.runs, self.out, data=self.data, benchmarks=self.benchmarks)
        if not self.runs:
            self._name_missing_benchmarks()
        print(path)
        return 0

    def _name_missing_benchmarks(self) -> None:
        from ..report.speed import DEFAULT_FOLDER, missing_benchmarks

        folder = self.benchmarks or DEFAULT_FOLDER
        if absent := missing_benchmarks(folder):
            files = ", ".join(absent)
            message = f"missing in {folder}: {files}; written by: fractal bench NAME --json"
            print(message, file=sys.stderr)
