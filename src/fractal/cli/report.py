"""`fractal report`: one HTML page with all evidence."""

import dataclasses
import pathlib
import sys

from .._errors import UserError
from .._files import write_whole

_RESULTS, _BENCHMARKS = pathlib.Path("results"), pathlib.Path("benchmarks")


@dataclasses.dataclass(frozen=True)
class Report:
    """Write one HTML page of all that was claimed and measured; it opens without a network.

    Example: fractal report --out report

    Args:
        out: folder for the page, index.html.
        results: folder with the lines of the experiments (JSONL).
        benchmarks: folder with what `fractal bench … --json` printed.
    """

    out: pathlib.Path = pathlib.Path("report")
    results: pathlib.Path = _RESULTS
    benchmarks: pathlib.Path = _BENCHMARKS

    def run(self) -> int:
        """Print the path of the page; what is missing is said there and on stderr."""
        from ..report.page import gather, page  # loads JAX

        # A clone has the usual folders; elsewhere they may be missing.
        for folder, usual in ((self.results, _RESULTS), (self.benchmarks, _BENCHMARKS)):
            if folder != usual and not folder.is_dir():
                raise UserError(f"--{usual} {folder}: there is no such folder")
        found = gather(self.results, self.benchmarks)
        html = page(found)
        for folder, suffix, read, command in (
            (self.results, "jsonl", found.results, "python -m experiments.NAME"),
            (self.benchmarks, "json", found.benchmarks, "fractal bench NAME --json > NAME.json"),
        ):
            absent = [f"{name}.{suffix}" for name, lines in read.items() if lines is None]
            if absent:
                said = f"missing in {folder}: {', '.join(absent)}; made by: {command}"
                print(said, file=sys.stderr)
        path = self.out / "index.html"
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            write_whole(path, html.encode(errors="replace"))
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None
        print(path)
        return 0
