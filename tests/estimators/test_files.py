"""Classifiers and regressors in files."""

import copy
import pickle
from fractions import Fraction

import joblib
import numpy as np
import pytest

import fractal
from fractal.estimators import FractalClassifier, FractalRegressor
from fractal.estimators._saved import decode_labels

from .conftest import TINY


@pytest.mark.parametrize("labels", [[3, 7], [1.0, 2.0], [True, False], ["b", "a"]])
def test_files_keep_predictions_settings_and_the_type_of_labels(labels, waves, tmp_path):
    X, y = waves
    y = np.where(y == "slow", *labels)
    model = FractalClassifier(**TINY).fit(X, y)
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = FractalClassifier.load(path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.predict(X).dtype == y.dtype
    assert again.get_params() == model.get_params()
    assert isinstance(fractal.load(path), fractal.nn.SequenceModel)
    with pytest.raises(ValueError, match="FractalRegressor"):
        FractalRegressor.load(path)


def test_a_file_of_a_model_alone_is_not_a_classifier(fitted, tmp_path):
    fractal.save(tmp_path / "m.safetensors", fitted.model_)
    with pytest.raises(ValueError, match="contains a model only"):
        FractalClassifier.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("labels", [["b", {}], [["a"], ["b"]], ["b", 1]])
def test_labels_in_a_file_are_plain_and_as_long_as_their_values(labels):
    with pytest.raises(ValueError, match="of an unknown type"):
        decode_labels({"dtype": "<U1", "values": labels})
    assert decode_labels({"dtype": "<U500000000", "values": ["a", "bc"]}).dtype == np.dtype("<U2")


def test_pickle_and_joblib_keep_predictions(fitted, waves, tmp_path):
    joblib.dump(fitted, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(again.predict_proba(waves[0]), fitted.predict_proba(waves[0]))


def test_a_setting_without_a_form_in_json_is_named_before_a_file_is_written(fitted, tmp_path):
    model = copy.copy(fitted).set_params(lr=Fraction(1, 100))
    with pytest.raises(ValueError, match=r"^lr: is a Fraction, not a number, a string or a list"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    model.set_params(lr=np.float32(0.5), class_weight={3: 1.0, "a": 2}).save(tmp_path / "model")
    again = FractalClassifier.load(tmp_path / "model")
    assert again.get_params() == model.get_params() | {"class_weight": {3: 1.0, "a": 2}}
