"""Figures as SVG that is inlined in a page: themed by its style sheet, with unique ids, compact."""

import io
import re
import warnings

import matplotlib
from matplotlib.figure import Figure

from .figures import BLACK, BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILION

# The style sheet gives each color a light and a dark value.
_VARIABLES = {
    BLACK: "ink", VERMILION: "c1", BLUE: "c2", GREEN: "c3", PURPLE: "c4", ORANGE: "c5", SKY: "c6",
    GRAY: "c7", "#e6e6e6": "grid",
}  # fmt: skip
FRAME = "frame"  # the gid of an artist that a slider shows: this and the value, " now" if first


def svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element; `name` is unique on its page and starts all ids."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # A name in a script that the font lacks; the browser has fonts of its own.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fractal"}):
            figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue().decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) (?:height|width)="[^"]*"', r"\1", text)
    text = re.sub(r'(<svg[^>]*?) (?:height|width)="[^"]*"', r"\1", text)
    text = re.sub(rf'id="{FRAME}(\d\.\d\d)( now)?"', r'class="frame\2" data-frame="\1"', text)
    text = _ids(text, name)
    text = re.sub(r"(?<=d=\")[^\"]+", lambda found: _compact(found[0]), text)
    text = re.sub(r'(?<= [xy]=")[-\d.]+', lambda found: f"{float(found[0]):.4g}", text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r'style="[^"]*"', lambda found: _themed(found[0]), text)
    return re.sub(r">\s+<", "><", text).strip()


def _ids(text: str, name: str) -> str:
    """Keep only ids that something refers to, and make them unique on the page."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))

    def renamed(found: re.Match) -> str:
        return f' id="{name}-{found[1]}"' if found[1] in used else ""

    text = re.sub(r' id="([^"]*)"', renamed, text)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", text)


def _compact(path: str) -> str:
    """A path with coordinates to a tenth of a point, or finer for small shapes."""
    short = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.4g}", path)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", short).strip()


def _themed(style: str) -> str:
    style = re.sub(r"; font-family: 'DejaVu Sans'[^;\"]*", "", style)  # the page has its own
    style = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", style)
    for color, variable in _VARIABLES.items():
        style = style.replace(color.lower(), f"var(--{variable})")
    return style
