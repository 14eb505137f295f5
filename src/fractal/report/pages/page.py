"""One self-contained HTML page: sections of text, tables and figures in a jinja2 template.

The page opens from disk and requests nothing. All text is escaped by the template, since it may
come from files of others; only figures and the package's own script and style are inserted as they
are, and the content security policy admits no other script.
"""

import base64
import dataclasses
import functools
import hashlib
import html
import importlib.resources
import re
from collections.abc import Callable, Mapping, Sequence

import jinja2
import markupsafe
from matplotlib.figure import Figure

from ... import __version__
from ..._provenance import provenance
from ..claims import Claim
from ..table import Quartiles, Spread, Table, leaders, shown
from .svg import svg

_PACKAGE = __name__.rpartition(".")[0]


@dataclasses.dataclass(frozen=True)
class Text:
    """A paragraph with `code` marked as in Markdown; `kind` is a class of the style sheet."""

    text: str
    kind: str = ""


@dataclasses.dataclass(frozen=True)
class Chart:
    """A figure with its title, and a description for readers who do not see it."""

    title: str
    description: str
    figure: Figure
    wide: bool = False


@dataclasses.dataclass(frozen=True)
class Charts:
    """Charts side by side."""

    charts: Sequence[Chart]


@dataclasses.dataclass(frozen=True)
class ClaimTable:
    """Claims with their verdicts; `heading` is that of the published or required values."""

    caption: str
    heading: str
    claims: Sequence[Claim]


@dataclasses.dataclass(frozen=True)
class AlphaSlider:
    """A slider over `alphas`; it shows one frame of each chart and, per signal, one summary."""

    alphas: Sequence[float]
    start: float
    charts: Sequence[Chart]
    signals: Mapping[str, Sequence[Chart]]
    summaries: Mapping[str, Mapping[float, str]]


@dataclasses.dataclass(frozen=True)
class Folded:
    """Blocks that are opened on demand."""

    summary: str
    blocks: Sequence["PageBlock"]


PageBlock = Text | Charts | Table | ClaimTable | AlphaSlider | Folded


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page under its own heading; `name` is its anchor."""

    name: str
    title: str
    blocks: Sequence[PageBlock]


def missing(file: str, command: str) -> Text:
    """Shown in place of a file that does not exist."""
    return Text(f"{file} is missing. `{command}` writes it.", "missing")


def render(title: str, lead: str, sections: Sequence[Section]) -> str:
    script = _file("slider.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            lead=lead,
            sections=sections,
            policy="default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
            f"script-src 'sha256-{digest}'",
            style=markupsafe.Markup(_file("style.css")),
            script=markupsafe.Markup(script),
            version=__version__,
            made=provenance(),
            inline=_numbered(),
        )
    )
    # Names read from files may contain what UTF-8 cannot encode.
    return text.encode(errors="replace").decode()


def _numbered() -> Callable[[Figure], markupsafe.Markup]:
    """A function that inlines figures under the names f1, f2, …"""
    count = 0

    def inline(figure: Figure) -> markupsafe.Markup:
        nonlocal count
        count += 1
        return markupsafe.Markup(svg(figure, f"f{count}"))

    return inline


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["marked"] = _marked
    environment.filters["shown"] = shown
    environment.globals["leaders"] = leaders
    environment.tests["number"] = lambda cell: isinstance(cell, int | float | Spread | Quartiles)
    environment.globals["kind"] = lambda block: type(block).__name__
    return environment


def _marked(text: str) -> markupsafe.Markup:
    """Escaped text with `code` as an element."""
    return markupsafe.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text)))


def _file(name: str) -> str:
    folder = importlib.resources.files(_PACKAGE) / "templates"
    return (folder / name).read_text(encoding="utf-8")
