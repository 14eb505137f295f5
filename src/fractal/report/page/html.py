"""Pieces of the page. All text goes through `escape`: it may come from a file of a stranger."""

import re
from html import escape
from typing import Any, NamedTuple

from ..table import Spread, Table, Timing, leaders, shown


class Section(NamedTuple):
    """A part of the page under a heading of its own."""

    name: str
    title: str
    html: str


class Sheet:
    """The charts of a page by their number; the script draws each into its figure."""

    def __init__(self):
        self.charts: list[dict[str, Any]] = []

    def figure(self, chart: dict[str, Any]) -> str:
        """Where a chart goes. Its title and a sentence on it stand for it where it is not seen."""
        self.charts.append(chart)
        return (
            f'<figure class="chart" data-chart="{len(self.charts) - 1}">'
            f"<figcaption>{escape(chart['title'])}</figcaption>"
            f'<div class="plot" role="img" aria-label="{escape(chart["alt"])}"></div></figure>'
        )

    def figures(self, charts: list[dict[str, Any]]) -> str:
        """Several, side by side where there is room."""
        return f'<div class="charts">{"".join(map(self.figure, charts))}</div>'


def section(name: str, title: str, *parts: str) -> Section:
    """With a heading and an anchor."""
    body = "\n".join(part for part in parts if part)
    html = f'<section id="{name}" aria-labeledby="{name}-title">'
    html += f'<h2 id="{name}-title">{escape(title)}</h2>\n{body}\n</section>'
    return Section(name, escape(title), html)


def paragraph(text: str, kind: str = "") -> str:
    """Text in which `code` is marked as in Markdown."""
    marked = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
    return f'<p class="{kind}">{marked}</p>' if kind else f"<p>{marked}</p>"


def missing(file: str, command: str) -> str:
    """In place of what was not measured yet."""
    return paragraph(f"Not here yet: {file} is missing. `{command}` makes it.", "missing")


def folded(summary: str, *parts: str) -> str:
    """What is opened on demand."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def table(one: Table) -> str:
    """A table that scrolls sideways where it is wider than the screen."""
    marked = leaders(one)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in one.header)
    rows = []
    for index, row in enumerate(one.rows):
        cells = []
        for column, cell in enumerate(row):
            numeric = ' class="number"' if isinstance(cell, int | float | Spread | Timing) else ""
            text = escape(shown(cell))
            text = f"<strong>{text}</strong>" if (index, column) in marked else text
            if column == 0:
                cells.append(f'<th scope="row">{text}</th>')
            else:
                cells.append(f"<td{numeric}>{text}</td>")
        kind = ' class="here"' if index in one.ours else ""
        rows.append(f"<tr{kind}>{''.join(cells)}</tr>")
    caption = f"{escape(one.caption)} <code>{escape(one.command)}</code>"
    bold = "Bold: best of its group, and what lies within its deviation." if one.best else ""
    note = f"{one.note} {bold}".strip()
    below = paragraph(note, "note") if note else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(one.caption)}">'
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>{below}"
    )
