"""`fractal verify`: every claim of the paper, published value and measured value."""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated

from rich.table import Table

from .._errors import UserError
from .._provenance import provenance
from ..report.claims import Claim
from ..report.paper_tables import Conditions, condition_numbers, condition_table
from ..report.table import shown
from ..report.verification import verify
from .console import Stdout
from .parse import NO_HINT

_STYLE = {"confirmed": "green", "refuted": "red", "holds": "bold green", "fails": "bold red"}


@dataclasses.dataclass(frozen=True)
class Verify:
    """Check every claim of the paper: published value, measured value, verdict.

    Example: fractal verify --figures figures

    Args:
        figures: folder for the figures (PNG and PDF); none are drawn without it.
        json: print one JSON object instead of tables.
    """

    figures: Annotated[pathlib.Path | None, NO_HINT] = None
    json: bool = False

    def run(self) -> int:
        """Exit code 0 if all properties of this library hold, 1 otherwise."""
        # Figures first: a folder that cannot be written is reported before anything is measured.
        drawn = [] if self.figures is None else _draw(self.figures)
        claims, table = verify(), condition_numbers()
        holds = all(claim.verdict != "fails" for claim in claims)
        if self.json:
            found = {
                "provenance": provenance(),
                "claims": [dataclasses.asdict(claim) for claim in claims],
                "condition_numbers": [dataclasses.asdict(row) for row in table],
                "figures": [str(path) for path in drawn],
                "own_properties_hold": holds,
            }
            print(json.dumps(found, ensure_ascii=False, indent=2))
        else:
            _show(claims, table)
        for path in drawn:
            print(f"drew {path}", file=sys.stderr)
        return 0 if holds else 1


def _draw(folder: pathlib.Path) -> list[pathlib.Path]:
    from ..report.pages.figures import draw_all  # matplotlib is slow to load

    try:
        return draw_all(folder)
    except OSError as error:
        raise UserError(f"cannot write figures to {folder}: {error.strerror}") from None


def _show(claims: Sequence[Claim], conditions: Sequence[Conditions]) -> None:
    console = Stdout()
    for title, third, verdicts in (
        ("The paper's claims", "published", ("confirmed", "refuted")),
        ("Properties of this library", "required", ("holds", "fails")),
    ):
        claim_table = Table(title=title, title_justify="left", show_lines=True)
        for column in ("where", "claim", third, "measured", "verdict"):
            claim_table.add_column(column)
        for c in (claim for claim in claims if claim.verdict in verdicts):
            verdict = f"[{_STYLE[c.verdict]}]{c.verdict}[/]"
            claim_table.add_row(c.source, c.statement, c.published, c.measured, verdict)
        console.print(claim_table)
    console.print(_condition_table(conditions))
    counts = {v: sum(c.verdict == v for c in claims) for v in _STYLE}
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def _condition_table(conditions: Sequence[Conditions]) -> Table:
    made = condition_table(conditions)
    table = Table(*made.header, title=made.caption, title_justify="left")
    for row in made.rows:
        table.add_row(*map(shown, row))
    return table
