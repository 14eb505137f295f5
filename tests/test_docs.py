import doctest
import pathlib

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["layers.md", "data.md"])
def test_the_examples_of_the_documentation_run(page, tmp_path, monkeypatch):
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path))
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
