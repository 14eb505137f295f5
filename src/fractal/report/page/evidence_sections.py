"""Sections that need no results: the slider, the claims, the paper's figures drawn again."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ... import theory
from .. import alpha_sweep
from ..claims import Claim
from ..paper_tables import Conditions, condition_table
from .charts import axis, line, lines
from .html import Section, Sheet, paragraph, section, table

_VERIFY = "fractal verify"
_RECENT = alpha_sweep.RECENT


def alpha(sweep: Mapping[str, Any]) -> Section:
    """The slider. Its charts are drawn by the script, from the data of the sweep."""
    alphas = sweep["alphas"]
    chosen = len(alphas) // 2
    options = "".join(
        f'<option value="{index}">{escape(one["name"])}</option>'
        for index, one in enumerate(sweep["signals"])
    )
    plots = "".join(
        f'<figure class="chart"><figcaption>{title}</figcaption>'
        f'<div class="plot" id="alpha-{name}" role="img" aria-label="{title}"></div></figure>'
        for name, title in (
            ("measure", "Weight of the past by age"),
            ("spectrum", f"Spectrum of the operator, N = {sweep['order']}: decay and oscillation"),
            ("whole", f"What {sweep['order']} numbers recall of the whole signal"),
            ("recent", f"… and of its most recent {100 * _RECENT:g} %"),
        )
    )
    controls = (
        '<div class="controls"><label for="alpha">α '
        f'<output id="alpha-value" for="alpha">{alphas[chosen]:.2f}</output></label>'
        f'<input id="alpha" type="range" min="0" max="{len(alphas) - 1}" value="{chosen}" step="1" '
        f'aria-valuetext="α = {alphas[chosen]:.2f}">'
        f'<label for="signal">signal</label><select id="signal">{options}</select></div>'
    )
    return section(
        "try",
        "Try α",
        paragraph(
            "The singularity index α says how much more the recent past weighs. At α = 0 all of "
            "the past weighs the same: that is HiPPO-LegS. Move the slider, or use the arrow keys."
        ),
        controls,
        '<p id="alpha-said" aria-live="polite"></p>',
        f'<div class="charts alpha">{plots}</div>',
        paragraph(
            "Computed by `fractal.theory` and `fractal.OnlineMemory` when this page was made. The "
            "fractional operator has one real part for each mode; the normal form, with which "
            "layers begin, has the same for all. Of conjugate pairs the upper one is drawn.",
            "note",
        ),
    )


def claims(found: Sequence[Claim], conditions: Sequence[Conditions]) -> Section:
    """All claims with their verdicts, and the table of condition numbers."""
    verdicts = ("confirmed", "refuted", "holds", "fails")
    counts = [(v, sum(c.verdict == v for c in found)) for v in verdicts]
    badges = "".join(
        f'<li class="{verdict}"><b>{count}</b> {verdict}</li>' for verdict, count in counts
    )
    return section(
        "claims",
        "Claims of the paper",
        paragraph(
            f"Each was measured when this page was made (`{_VERIFY}`). Claims of the paper are "
            "confirmed or refuted; properties that this library promises hold or fail (theory: "
            "docs/theory.md)."
        ),
        f'<ul class="counts">{badges}</ul>',
        _claim_table("The paper's claims", "published", found, verdicts[:2]),
        _claim_table("Properties of this library", "promised", found, verdicts[2:]),
        table(condition_table(conditions)),
    )


def _claim_table(
    title: str, promised: str, found: Sequence[Claim], verdicts: tuple[str, str]
) -> str:
    heads = ("where", "claim", promised, "measured", "verdict")
    rows = []
    for claim in (one for one in found if one.verdict in verdicts):
        texts = (claim.source, claim.statement, claim.published, claim.measured)
        cells = "".join(
            f'<td data-label="{head}">{escape(text)}</td>'
            for head, text in zip(heads, texts, strict=False)
        )
        badge = f'<span class="verdict {claim.verdict}">{claim.verdict}</span>'
        rows.append(f'<tr>{cells}<td data-label="verdict">{badge}</td></tr>')
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<table class="claims"><caption>{title} <code>{_VERIFY}</code></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def figures(sheet: Sheet, conditions: Sequence[Conditions]) -> Section:
    """Measures, conditioning and operators."""
    return section(
        "figures",
        "Figures",
        sheet.figures([_measures(), _conditioning(conditions)]),
        sheet.figure(_operators()),
        paragraph(f"For print: `{_VERIFY} --figures figures`.", "note"),
    )


def _measures() -> dict[str, Any]:
    ages = np.geomspace(1e-3, 1, 200)
    series = [
        line(name, color, ages, np.where(density > 0, density, np.nan), dash=color != 1)
        for name, color, measure in (
            ("fractional, α = 0.5", 1, theory.Fractional(0.5)),
            ("LegS", 2, theory.LegS()),
            ("LegT, window 0.2", 3, theory.LegT(window=0.2)),
            ("LagT, timescale 0.1", 5, theory.LagT(timescale=0.1)),
        )
        for density in [np.asarray(measure.density(1.0, 1 - ages))]
    ]
    alt = "LegS is flat, LegT ends at its window, LagT falls exponentially, the fractional measure "
    alt += "falls as a power of age over the whole history."
    y = axis("density", "log", [1e-3, 30])
    return lines("Four measures of the past", alt, axis("relative age", "log"), y, series)


def _conditioning(conditions: Sequence[Conditions]) -> dict[str, Any]:
    worst = max(row.alpha for row in conditions)
    rows = [row for row in conditions if row.alpha == worst]
    orders = [row.order for row in rows]
    ours = [np.nan if row.fractional is None else row.fractional for row in rows]
    series = [
        line("published A, exact", 2, orders, [row.published for row in rows], dash=True),
        line("published A, as printed", 7, orders, [row.printed for row in rows], marks=True),
        line("fractional operator", 1, orders, ours),
    ]
    alt = f"The exact condition number of the published operator grows to {rows[-1].published:.0e} "
    alt += f"at N = {orders[-1]}; that of the fractional one, to {np.nanmax(ours):.0e}."
    title = f"Condition number of the eigenvectors, α = {worst:g}"
    return lines(title, alt, axis("order N", "log", ticks=orders), axis("κ(V)", "log"), series)


def _operators() -> dict[str, Any]:
    order, panels = 16, []
    for name in ("published", "fractional"):
        for a in (0.0, 0.5, 0.9):
            op = (
                theory.published_operator(a, order)
                if name == "published"
                else theory.operator(theory.Fractional(a), order)
            )
            # Between 1 and 3000, on a logarithmic scale: how opaque a cell is.
            strength = np.log(np.maximum(op.A, 1.0)) / np.log(3000)
            cells = np.where(op.A > 1e-9, 0.06 + 0.94 * np.clip(strength, 0, 1), 0.0)
            panels.append(
                {"name": f"{name}, α\u00a0=\u00a0{a:g}", "cells": np.round(cells, 2).tolist()}
            )
    alt = "Six matrices. The published ones are lower triangular; the fractional ones are full "
    alt += "for α above 0, and the same at α = 0."
    title = "Entries of A, N = 16: the fuller the color, the larger (1 to 3000, logarithmic)"
    return {"kind": "heat", "title": title, "alt": alt, "panels": panels}
