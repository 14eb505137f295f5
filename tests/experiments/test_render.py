import json

import pytest

from experiments import code, render


@pytest.mark.parametrize("page", render.PAGES)
def test_every_table_is_what_the_results_say(page):
    text = (code.ROOT / page).read_text(encoding="utf-8")
    assert text.count("<!-- /") > 0
    assert render.filled(text) == text, "run `python -m experiments.render`"


def test_a_changed_result_changes_the_table(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(code, "ROOT", tmp_path)
    line = {"task": "image", "model": "s5", "seed": 0, "parameters": 9, "steps": 1, "examples": 1}
    line |= {"seconds": 1, "early_loss": 1, "late_loss": 1, "chance": 0.1, "bag": 0.2, "curve": []}
    seeds = [line | {"seed": seed, "test_accuracy": 0.3 + 0.1 * seed} for seed in range(3)]
    written = "\n".join(json.dumps(one) for one in seeds)
    (tmp_path / "results" / "models.jsonl").write_text(written)
    found = render.filled("a\n<!-- overview -->\nold\n<!-- /overview -->\nb")
    assert "| s5 | 0.400 ± 0.100 |" in found
    assert "| bag of tokens | 0.200 |" in found
    assert "old" not in found
    assert found.startswith("a\n")
    assert found.endswith("\nb")
