"""The network and the filters by number of training cases."""

import numpy as np
import pytest

from experiments import series_tables, training_cases
from experiments.results import read_experiment
from fractal.estimators import FilterBankClassifier
from fractal.tasks.speech import Recording
from result_lines import all_lines, write


@pytest.fixture
def tones(monkeypatch):
    """Recordings of two tones: 40 for the training, 10 for the test."""
    rng = np.random.default_rng(0)
    waves = [np.sin((0.3 + 0.2 * (i % 2)) * np.arange(900)) for i in range(50)]
    found = [
        Recording(i % 2, "someone", i // 2, 8000, (wave + 0.1 * rng.normal(size=900)).astype("f4"))
        for i, wave in enumerate(waves)
    ]
    monkeypatch.setattr(training_cases.speech, "recordings", lambda: found)
    monkeypatch.setattr(training_cases, "is_official_test", lambda one: one.number < 5)
    few = {"filters": lambda random_state: FilterBankClassifier(20, random_state=random_state)}
    monkeypatch.setattr(training_cases, "METHODS", few)


def test_models_are_fitted_to_part_of_the_training_set_and_scored_on_the_whole_test_set(tones):
    (X, _), (test, truth) = training_cases.load(training_cases.DIGITS)
    assert (len(X), len(test), np.bincount(truth).tolist()) == (40, 10, [5, 5])
    assert len(X[0]) == 900 * training_cases.speech.REDUCED // 8000
    found = training_cases.measure(training_cases.DIGITS, "filters", 20, 0)
    assert found["accuracy"] == 1.0
    assert 0 < found["log_loss"] < 0.7


def test_the_table_has_a_row_per_number_of_cases_and_a_dash_where_a_method_is_missing(tmp_path):
    write(tmp_path, {"training_cases": all_lines()["training_cases"]})
    table = series_tables.training_cases(read_experiment(tmp_path, "training_cases") or [])
    assert table.header[2:4] == ("accuracy, network", "accuracy, filters")
    assert [row[:4] for row in table.rows] == [
        ("MNIST by pixels", 100, None, 0.7), ("MNIST by pixels", 1000, 0.8, 0.9)
    ]  # fmt: skip
