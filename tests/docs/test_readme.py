import pathlib
import re

from fractal.train import preset

ROOT = pathlib.Path(__file__).parents[2]


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert round(float(names["m"].recent_share(0.1)), 3) == 0.316
    assert (tmp_path / "memory.safetensors").exists()


def test_the_page_on_the_arena_has_the_steps_and_batches_of_the_presets():
    text = (ROOT / "docs" / "lra.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| `(\w+)` \| (\d+), ([\d,]+), (\d+) \|", text)
    assert len(rows) == 6
    for task, epochs, steps, batch in rows:
        paper = preset(task, "paper", "fractal")
        assert (paper.steps, paper.data.batch) == (int(steps.replace(",", "")), int(batch)), task
        assert paper.steps == int(epochs) * paper.evaluate_every, task
