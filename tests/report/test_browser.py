"""The script of the page, run in a real browser."""

import pytest

from browser import browser
from fractal.report.pages import evidence
from fractal.report.pages.page import render
from fractal.report.pages.run_page import runs_page
from run_folders import config, write_run

FRAME = "document.querySelector('#alpha-frames svg .frame.now')"
MOVE = (
    "const s = document.getElementById('alpha'); s.value = {}; s.dispatchEvent(new Event('input'))"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(render("t", "l", [evidence.slider_section((0.0, 0.25, 0.5, 0.75))]))
    return path


def shown(page):
    """α in words, the α of all frames that are visible, and the signals that are."""
    return page.evaluate(
        """(() => {
          const visible = (e) => getComputedStyle(e).visibility === "visible"
            && getComputedStyle(e).display !== "none";
          const frames = [...document.querySelectorAll("#alpha-frames .frame")].filter(visible);
          const signals = [...document.querySelectorAll("#alpha-frames .signal")]
            .filter((e) => !e.hidden);
          return {
            value: document.getElementById("alpha-value").textContent,
            frames: [...new Set(frames.map((e) => e.dataset.frame))],
            signals: [...new Set(signals.map((e) => e.dataset.signal))],
            text: frames.filter((e) => e.tagName === "P" && e.offsetParent)
              .map((e) => e.textContent),
          };
        })()"""
    )


def test_the_slider_shows_the_chosen_alpha_and_signal(page):
    with browser() as chromium:
        chromium.open(page)
        first = shown(chromium)
        assert (first["value"], first["frames"], first["signals"]) == ("0.50", ["0.50"], ["0"])
        path = chromium.evaluate(f"{FRAME}.querySelector('path').getAttribute('d')")
        chromium.evaluate(MOVE.format(0.75))
        moved = shown(chromium)
        assert (moved["value"], moved["frames"], moved["signals"]) == ("0.75", ["0.75"], ["0"])
        assert moved["text"] != first["text"]
        assert len(moved["text"]) == 1
        other = chromium.evaluate(f"{FRAME}.querySelector('path').getAttribute('d')")
        assert other != path
        chromium.evaluate(
            "const c = document.getElementById('signal'); c.value = 2;"
            "c.dispatchEvent(new Event('change'))"
        )
        assert shown(chromium)["signals"] == ["2"]
        assert chromium.problems() == []
        assert chromium.requests() == [page.as_uri()]


def test_a_narrow_screen_needs_no_sideways_scrolling_of_the_page(page):
    with browser() as chromium:
        chromium.open(page, width=390)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_page_of_runs_reports_no_problem(tmp_path):
    path = tmp_path / "index.html"
    path.write_text(runs_page([write_run(tmp_path / "run", config())]))
    with browser() as chromium:
        chromium.open(path, width=390)
        assert chromium.evaluate("document.querySelectorAll('svg').length") >= 2
        assert chromium.evaluate("document.documentElement.scrollWidth") <= 390
        assert chromium.problems() == []
        assert chromium.requests() == [path.as_uri()]
