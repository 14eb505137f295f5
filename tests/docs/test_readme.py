import doctest
import pathlib
import re

from fractal.train import preset

ROOT = pathlib.Path(__file__).parents[2]


def test_the_python_of_the_readme_prints_what_it_shows():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


def test_the_links_of_the_readme_lead_to_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert len(links) > 10
    assert not [link for link in links if not (ROOT / link).exists()]


def test_the_page_on_the_arena_has_the_steps_and_batches_of_the_presets():
    text = (ROOT / "docs" / "lra.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| `(\w+)` \| (\d+), ([\d,]+), (\d+) \|", text)
    assert len(rows) == 6
    for task, epochs, steps, batch in rows:
        paper = preset(task, "paper", "fractal")
        assert (paper.steps, paper.data.batch) == (int(steps.replace(",", "")), int(batch)), task
        assert paper.steps == int(epochs) * paper.evaluate_every, task
