import doctest
import pathlib

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["layers.md"])
def test_the_examples_of_the_documentation_run(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
