import doctest
import pathlib

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SLOW = ("data.md", "layers.md", "own-data.md")


@pytest.mark.parametrize(
    "page",
    [
        *("choose.md", "quickstart.md", "streaming.md"),
        *(pytest.param(page, marks=pytest.mark.slow) for page in SLOW),
    ],
)
def test_the_examples_of_the_documentation_run(page, tmp_path, monkeypatch):
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path))
    result = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


def test_every_page_with_an_example_is_run_by_the_test_above():
    run = test_the_examples_of_the_documentation_run.pytestmark[0].args[1]
    names = {page if isinstance(page, str) else page.values[0] for page in run}
    with_examples = {page.name for page in DOCS.glob("*.md") if ">>> " in page.read_text("utf-8")}
    assert with_examples == names
