import pathlib
import re

from tests.test_public_api import MODULES, SNAPSHOT

PAGES = pathlib.Path(__file__).parents[2] / "docs" / "api"


def public_names():
    """Classes and functions of the snapshot; literals and constants need no page."""
    places = "|".join(re.escape(module) for module in sorted(MODULES, key=len, reverse=True))
    for line in SNAPSHOT.read_text(encoding="utf-8").splitlines():
        if found := re.match(rf"({places})\.(\w+)\(", line):
            yield f"{found[1]}.{found[2]}"


def test_the_api_pages_contain_every_public_class_and_function_once():
    pages = "".join(path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md")))
    listed = re.findall(r"^::: (\S+)$", pages, re.MULTILINE)
    assert sorted(listed) == sorted(public_names())
