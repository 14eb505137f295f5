"""Words that the glossary of CONTRIBUTING.md replaces, where they have no other meaning."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
REPLACED = re.compile(
    r"reference implementation|yardstick|\buntold\b|\bg(?:o|oes|oing) on\b|read-out"
    r"|(?:discret|diagonal|initial|optim|normal|regular|vector|summar|recogn|penal|util)is(?:e|ing|ation)"
    r"|\w*colour|behaviour|neighbour|artefact|modelling|\bcentre|\b(?:to|back|after|for)wards\b"
    r"|whole numbers?\b|subjective time|learned clock|(?:measured|called) in turns",
    re.IGNORECASE,
)


def texts():
    """The pages and the code; the changelog and the glossary name old words."""
    yield ROOT / "README.md"
    for folder, pattern in (
        ("docs", "*.md"),
        ("docs", "*.py"),
        ("src", "*.py"),
        ("experiments", "*.py"),
    ):
        yield from sorted((ROOT / folder).rglob(pattern))


def test_the_pages_and_the_code_use_the_words_of_the_glossary():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for match in REPLACED.finditer(line)
    ]
    assert not found, "\n".join(found)
