"""The models in models/: they load, have a card with their checksum, and reproduce its score."""

import json
import pathlib
import re

import jax
import numpy as np
import pytest

import fractal
from experiments import laptop, model_cards
from experiments.results import read_experiment
from fractal.nn import SequenceModel
from fractal.tasks import DataError, MissingData
from fractal.train import evaluate_run, preset
from result_lines import all_lines, write

MODELS = sorted(path.parent for path in model_cards.MODELS.glob("*/model.safetensors"))


@pytest.fixture
def line(tmp_path, monkeypatch):
    """A line of a finished run, whose folder is there."""
    monkeypatch.setattr(laptop, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(model_cards, "MODELS", tmp_path / "models")
    write(tmp_path, {"laptop": all_lines()["laptop"]})
    found = (read_experiment(tmp_path, "laptop") or [])[0]
    run = laptop.folder_of(found)
    run.mkdir(parents=True)
    config = preset("text", "laptop")
    (run / "config.json").write_text(config.to_json())
    model = SequenceModel(135, 2, width=4, depth=1, key=jax.random.key(0))
    fractal.save(run / "model.safetensors", model)
    found["sha256"] = model_cards.checksum(run / "model.safetensors")
    found["settings"] = json.loads(config.to_json())
    return found


def test_a_published_model_has_settings_weights_and_a_card_with_score_and_checksum(line):
    model_cards.publish(line)
    folder = model_cards.MODELS / "text"
    assert isinstance(fractal.load(folder / "model.safetensors"), SequenceModel)
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert f"sha256 | `{line['sha256']}`" in text
    assert "test accuracy | 0.8125" in text
    assert "2.5 CPU hours, 3.5 hours on 2 cores" in text
    assert "hours on one core |" in model_cards.card(line | {"cores": 1})
    assert "fractal train text --preset laptop --seed 0" in text
    assert f"width {preset('text', 'laptop').model.width}" in text
    assert (folder / "config.json").read_text() == preset("text", "laptop").to_json()


def test_weights_of_another_run_get_no_card(line):
    with pytest.raises(DataError, match="contains the weights of text"):
        model_cards.publish(line | {"sha256": "of other weights"})
    assert not (model_cards.MODELS / "text" / "README.md").exists()


@pytest.mark.parametrize("folder", MODELS, ids=lambda path: path.name)
def test_weights_load_and_their_card_has_their_checksum(folder: pathlib.Path):
    weights = folder / "model.safetensors"
    assert isinstance(fractal.load(weights), SequenceModel)
    card = (folder / model_cards.CARD).read_text(encoding="utf-8")
    assert model_cards.checksum(weights) in card


@pytest.mark.slow
@pytest.mark.parametrize("folder", MODELS, ids=lambda path: path.name)
def test_weights_have_the_score_of_their_card(folder: pathlib.Path):
    text = (folder / model_cards.CARD).read_text(encoding="utf-8")
    found = re.search(r"test accuracy \| ([0-9.]+)", text)
    assert found
    try:
        score = evaluate_run(folder)["test_accuracy"]
    except MissingData as error:  # a test does not start downloads
        pytest.skip(f"{error}")
    np.testing.assert_allclose(score, float(found.group(1)), atol=6e-5)
