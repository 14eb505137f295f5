"""One HTML page with all evidence. It opens from disk and asks the network for nothing."""

import base64
import dataclasses
import hashlib
import importlib.resources
import json
import pathlib
import string
from collections.abc import Mapping
from typing import Any

from ... import __version__
from ..alpha_sweep import alpha_sweep
from ..claims import Claim
from ..paper_tables import Conditions, condition_numbers
from ..results import EXPERIMENTS, Line, read_experiment
from ..speed import BENCHMARKS, Benchmark, read_benchmark
from ..verification import verify
from . import evidence_sections, result_sections
from .html import Sheet


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What the page shows; an experiment or benchmark that was not run is None."""

    claims: list[Claim]
    conditions: list[Conditions]
    sweep: Mapping[str, Any]
    results: Mapping[str, list[Line] | None]
    benchmarks: Mapping[str, Benchmark | None]


def gather(results: pathlib.Path, benchmarks: pathlib.Path) -> Evidence:
    """Read what was measured, and then measure the claims: takes some seconds."""
    experiments = {name: read_experiment(results, name) for name in EXPERIMENTS}
    speeds = {name: read_benchmark(benchmarks, name) for name in BENCHMARKS}
    return Evidence(verify(), condition_numbers(), alpha_sweep(), experiments, speeds)


def page(found: Evidence) -> str:
    """The page as HTML."""
    sheet = Sheet()
    sections = [
        evidence_sections.alpha(found.sweep),
        evidence_sections.claims(found.claims, found.conditions),
        evidence_sections.figures(sheet, found.conditions),
        result_sections.recall(sheet, found.results["recall"]),
        *result_sections.experiments(sheet, found.results),
        result_sections.speed(sheet, found.benchmarks),
        result_sections.arena(found.results["table"]),
    ]
    script = _file("script.js")
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return string.Template(_file("template.html")).substitute(
        # Only this script may run, whatever stands in a file of results.
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashed}'",
        style=_file("style.css"),
        contents="\n".join(f'<a href="#{one.name}">{one.title}</a>' for one in sections),
        sections="\n".join(one.html for one in sections),
        version=__version__,
        data=embedded({"charts": sheet.charts, "sweep": found.sweep}),
        script=script,
    )


def embedded(data: Any) -> str:
    """JSON that no text inside can end the element of, and that has no NaN."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _file(name: str) -> str:
    return (importlib.resources.files(__name__) / name).read_text(encoding="utf-8")
