"""`fractal memory`: compress time series, and print the error of their reconstruction."""

import dataclasses
import json
import pathlib
import sys
from typing import Annotated

import numpy as np
import tyro
from jaxtyping import Float
from rich.markup import escape
from rich.table import Table

from .._errors import UserError
from .._memory import OnlineMemory
from ..report.recall import AGE_LABELS, error_by_age, sample_ages
from .console import Stdout
from .csv_series import read_series
from .parse import NO_HINT

_MOST_PLOTTED = 8
_LARGEST_ORDER = 1024  # a minute of eigenvalues; the time grows with the third power


@dataclasses.dataclass(frozen=True)
class Memory:
    """Compress each numeric column of a CSV file and print the recall error by age.

    Example: fractal memory series.csv --alpha 0.9 --order 64 --plot recall.png

    Args:
        file: CSV file with one row per sample, oldest first; columns of text are skipped.
        alpha: singularity index in [0, 0.95]; 0 is the uniform measure (LegS).
        order: number of coefficients per column, even.
        plot: draw the signals and their reconstructions into this file (.png, .pdf or .svg).
        json: print one JSON object instead of tables.
    """

    file: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    alpha: float = 0.9
    order: int = 64
    plot: Annotated[pathlib.Path | None, NO_HINT] = None
    json: bool = False

    def run(self) -> int:
        """Print root-mean-square errors in units of each column's standard deviation."""
        if self.plot and self.plot.suffix.lower() not in (".png", ".pdf", ".svg"):
            raise UserError(f"{self.plot} must end in .png, .pdf or .svg", argument="plot")
        if self.order > _LARGEST_ORDER:
            raise UserError(f"must be at most {_LARGEST_ORDER}, got {self.order}", argument="order")
        series = read_series(self.file)
        with np.errstate(over="ignore"):
            spread = series.samples.std(axis=0)
        if not np.isfinite(spread).all():
            raise UserError(
                f"{self.file} contains numbers above 1e150, too large to square: rescale it"
            )
        ages = sample_ages(len(series.samples))
        recalled = {
            _label(alpha): self._memory(alpha, series.samples).recall(ages)
            for alpha in dict.fromkeys((self.alpha, 0.0))
        }
        # The deviation of a constant column is zero up to rounding: its error is absolute.
        unit = np.where(np.ptp(series.samples, axis=0) > 0, spread, 1.0)
        errors = {
            name: error_by_age((values - series.samples) / unit)
            for name, values in recalled.items()
        }
        if self.plot:
            _draw(self.plot, series.names, series.samples, recalled)
        if series.text:
            print(f"skipped, not numeric: {', '.join(series.text)}", file=sys.stderr)
        if self.json:
            summary = self._summary(series.names, len(ages), errors)
            print(json.dumps(summary, ensure_ascii=False, indent=2))
        else:
            _show(series.names, len(ages), self.order, errors)
        return 0

    def _memory(self, alpha: float, samples: Float[np.ndarray, "time channels"]) -> OnlineMemory:
        return OnlineMemory(alpha, self.order, channels=samples.shape[1]).push(samples)

    def _summary(self, names: list[str], samples: int, errors: dict) -> dict:
        return {
            "file": str(self.file),
            "samples": samples,
            "alpha": self.alpha,
            "order": self.order,
            "unit": "root-mean-square error / standard deviation of the column",
            "columns": [
                {
                    "column": column,
                    "memory": memory,
                    "error_by_age": {
                        band: None if np.isnan(error) else float(error)
                        for band, error in zip(AGE_LABELS, bands[:, index], strict=True)
                    },
                }
                for index, column in enumerate(names)
                for memory, bands in errors.items()
            ],
        }


def _draw(plot: pathlib.Path, names: list[str], samples: np.ndarray, recalled: dict) -> None:
    from ..report.pages.figures import reconstruction  # matplotlib is slow to import

    if len(names) > _MOST_PLOTTED:
        print(f"drawing the first {_MOST_PLOTTED} of {len(names)} columns", file=sys.stderr)
    shown = slice(0, _MOST_PLOTTED)
    figure = reconstruction(
        names[shown],
        samples[:, shown],
        {name: values[:, shown] for name, values in recalled.items()},
    )
    try:
        figure.savefig(plot, dpi=150)
    except OSError as error:
        why = f"cannot write {plot}: {error.strerror or error}"
        raise UserError(why, argument="plot") from None
    print(f"wrote {plot}", file=sys.stderr)


def _label(alpha: float) -> str:
    return f"α = {alpha}" if alpha else "LegS"


def _show(names: list[str], samples: int, order: int, errors: dict) -> None:
    console = Stdout()
    console.print(
        f"{samples} samples compressed to {order} coefficients per column; error by relative age, "
        "in standard deviations of the column"
    )
    table = Table()
    for heading in ("column", "memory", *AGE_LABELS):
        table.add_column(heading)
    for index, column in enumerate(names):
        for memory, bands in errors.items():
            cells = ["–" if np.isnan(error) else f"{error:.2e}" for error in bands[:, index]]
            table.add_row(escape(column), memory, *cells)
        table.add_section()
    console.print(table)
