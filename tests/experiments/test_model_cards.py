"""The weights in models/: they load, have a card with their checksum, and reproduce its score."""

import pathlib
import re

import jax
import numpy as np
import pytest

import fractal
from experiments import model_cards
from experiments.results import read_experiment
from fractal.nn import SequenceModel
from result_lines import all_lines, write

WEIGHTS = sorted(model_cards.MODELS.glob("*.safetensors"))


def test_a_card_has_the_score_and_the_checksum_of_its_weights(tmp_path):
    write(tmp_path, {"laptop": all_lines()["laptop"]})
    line = (read_experiment(tmp_path, "laptop") or [])[0]
    weights = tmp_path / "text.safetensors"
    model = SequenceModel(135, 2, width=4, depth=1, key=jax.random.key(0))
    fractal.save(weights, model)
    text = model_cards.card(line, weights)
    assert f"sha256 | `{model_cards.checksum(weights)}`" in text
    assert "test accuracy | 0.8125" in text
    assert "fractal train text --preset laptop --seed 0" in text


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda path: path.stem)
def test_weights_load_and_their_card_has_their_checksum(weights: pathlib.Path):
    assert isinstance(fractal.load(weights), SequenceModel)
    assert model_cards.checksum(weights) in weights.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda path: path.stem)
def test_weights_have_the_score_of_their_card(weights: pathlib.Path):
    from fractal import tasks, train

    text = weights.with_suffix(".md").read_text(encoding="utf-8")
    found = re.search(r"test accuracy \| ([0-9.]+)", text)
    assert found
    task = tasks.load(weights.stem, preset="laptop")
    data = train.preset(weights.stem, "laptop").data
    score = train.evaluate(fractal.load(weights), task, batch=data.batch, buckets=data.buckets)[
        "accuracy"
    ]
    np.testing.assert_allclose(score, float(found.group(1)), atol=6e-5)
