"""Classifier and regressor on features of random filters."""

import json
import pickle

import numpy as np
import pytest
import safetensors.numpy
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fractal._files import add_metadata, read_metadata
from fractal.estimators import (
    FilterBankClassifier,
    FilterBankFeatures,
    FilterBankRegressor,
    FractalClassifier,
    reliability,
)
from fractal.estimators._filter_classifier import ridge_temperature
from fractal.estimators._ridge import fit_ridge

SMALL = {"n_filters": 40, "orders": (4, 8), "random_state": 0}


def tones(rng, count=45, classes=3, noise=0.5):
    """Waves of some frequencies in noise, of unequal lengths, with one missing value each."""
    y = np.arange(count) % classes
    X = []
    for label in y:
        time = np.arange(rng.integers(60, 80))
        X.append(np.sin((0.2 + 0.1 * label) * time + rng.uniform(0, 6)))
        X[-1] += rng.normal(0, noise, len(time))
        X[-1][rng.integers(5, 50)] = np.nan
    return X, y


@pytest.fixture
def fitted(rng):
    X, y = tones(rng)
    return FilterBankClassifier(**SMALL).fit(X, np.array(["a", "b", "c"])[y]), X


@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_are_those_of_a_pipeline_of_scikit_learn(rng, classes):
    (X, y), (test, truth) = tones(rng, classes=classes), tones(rng, classes=classes)
    model = FilterBankClassifier(**SMALL).fit(X, y)
    ridge = RidgeClassifierCV(np.logspace(-3, 3, 10))
    pipeline = make_pipeline(FilterBankFeatures(**SMALL), StandardScaler(), ridge).fit(X, y)
    assert model.penalty_ == pytest.approx(ridge.alpha_)
    np.testing.assert_array_equal(model.predict(test), pipeline.predict(test))
    decision = pipeline.decision_function(test)
    found = model.features_.transform(test) @ model.weights_ + model.intercept_
    np.testing.assert_allclose(found if classes > 2 else found[:, 1], decision, atol=1e-4)
    assert model.score(test, truth) > 0.8


def test_a_left_out_prediction_is_that_of_the_fit_without_the_case(rng):
    features, targets = rng.normal(size=(12, 30)), rng.normal(size=(12, 2))
    found = fit_ridge(features, targets)
    scaled = StandardScaler().fit_transform(features)
    for case in range(12):
        others = np.arange(12) != case
        one = Ridge(found.penalty).fit(scaled[others], targets[others])
        np.testing.assert_allclose(found.left_out[case], one.predict(scaled[[case]])[0], atol=1e-7)
    whole = Ridge(found.penalty).fit(scaled, targets)
    np.testing.assert_allclose(features @ found.weights + found.intercept, whole.predict(scaled))


def test_probabilities_are_calibrated(rng):
    (X, y), (test, truth) = tones(rng, 300, noise=2.0), tones(rng, 300, noise=2.0)
    model = FilterBankClassifier(**SMALL).fit(X, y)
    share = model.predict_proba(test)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    right = share.argmax(axis=1) == truth
    assert 0.6 < right.mean() < 0.97
    assert reliability(share.max(axis=1), right).error < 0.1
    model.temperature_ = 1.0
    assert reliability(model.predict_proba(test).max(axis=1), right).error > 0.15


def test_the_temperature_has_the_smallest_cross_entropy_and_is_positive_without_errors(rng):
    codes = rng.integers(0, 3, 2000)
    logits = rng.normal(size=(2000, 3))
    share = np.exp(logits / 0.25) / np.exp(logits / 0.25).sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(3, p=row) for row in share])
    assert ridge_temperature(logits, codes) == pytest.approx(0.25, rel=0.15)
    sure = 2.0 * np.eye(3)[codes[:20]] - 1
    few, many = ridge_temperature(sure[:4], codes[:4]), ridge_temperature(sure, codes[:20])
    assert 0.02 < many < few


def test_another_rate_is_read_with_times(rng):
    curves = [(label, rng.uniform(0, 6)) for label in np.arange(40) % 2]
    coarse, fine = np.arange(1, 121) / 120, np.arange(1, 481) / 480

    def sampled(time):
        return np.stack([np.sin((30 + 15 * label) * time + phase) for label, phase in curves])

    y = np.array([label for label, _ in curves])
    model = FilterBankClassifier(**SMALL).fit(sampled(coarse), y, times=coarse)
    assert model.score(sampled(fine), y, times=fine) == 1.0


def test_a_file_keeps_predictions_settings_and_labels(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "m.safetensors")
    again = FilterBankClassifier.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.get_params() == model.get_params() | {"orders": [4, 8]}
    assert again.penalty_ == model.penalty_
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X)
    )


@pytest.mark.parametrize(
    "changed", [{"clock": "scale-invariant"}, {"differences": False}, {"n_filters": 3}]
)
def test_a_file_has_the_fitted_filters_if_settings_were_changed_since(fitted, tmp_path, changed):
    model, X = fitted
    before = model.predict_proba(X)
    model.set_params(**changed).save(tmp_path / "m.safetensors")
    again = FilterBankClassifier.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), before)
    assert {name: again.get_params()[name] for name in changed} == changed


def test_files_of_others_are_refused_in_one_line(fitted, tmp_path):
    model, _ = fitted
    path = tmp_path / "m.safetensors"
    model.save(path)
    with pytest.raises(ValueError, match=r"it contains a 'FilterBankClassifier'$"):
        FilterBankRegressor.load(path)
    with pytest.raises(ValueError, match=r"its format is .fractal.filters."):
        FractalClassifier.load(path)
    tensors = safetensors.numpy.load_file(path)
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata()
    for name, changed, said in (
        ("coefficients", tensors["coefficients"][:-1], "its tensor coefficients must have"),
        ("decay", np.full_like(tensors["decay"], np.nan), "its tensor decay is not finite"),
        ("intercept", np.zeros(2), "its tensor coefficients must have"),
    ):
        safetensors.numpy.save_file({**tensors, name: changed}, path, metadata)
        with pytest.raises(ValueError, match=said):
            FilterBankClassifier.load(path)
    for entry, value, said in (
        ("fitted", {"penalty": 10**400}, "penalty must be a finite"),
        ("fitted", {"penalty": float("nan")}, "penalty must be a finite"),
        ("fitted", {"classes": {"dtype": "<U1"}}, "it has no 'values'"),
        ("fitted", {"features": {"clock": "fast"}}, "clock must be one of"),
        ("fitted", {"features": {"n_filters": 40.5}}, "n_filters must be an integer"),
        ("class", None, "it contains a None"),
    ):
        model.save(path)
        header = json.loads(read_metadata(path)["estimator"])
        header[entry] = {**header[entry], **value} if value else value
        add_metadata(path, {"estimator": json.dumps(header)})
        with pytest.raises(ValueError, match=said):
            FilterBankClassifier.load(path)
    with pytest.raises(ValueError, match=r"cannot read .*: No such file"):
        FilterBankClassifier.load(tmp_path / "none.safetensors")


def test_searches_and_cross_validation_accept_it(rng):
    X, y = np.sin((0.2 + 0.1 * (np.arange(20) % 2))[:, None] * np.arange(50)), np.arange(20) % 2
    model = FilterBankClassifier(8, orders=(4,), random_state=0)
    assert cross_val_score(model, X, y, cv=2).mean() > 0.9
    search = GridSearchCV(model, {"n_thresholds": [1, 2]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert clone(model).get_params() == model.get_params()


def test_a_failed_fit_leaves_the_classifier_as_it_was(fitted):
    model, X = fitted
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(X, ["a"] * len(X))
    model.set_params(n_filters=0)
    with pytest.raises(ValueError, match="n_filters"):
        model.fit(X, np.arange(len(X)) % 2)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_the_regressor_predicts_several_targets_of_any_scale(rng, tmp_path):
    rate, height = rng.uniform(0.2, 0.4, 80), rng.uniform(1, 2, 80)
    X = height[:, None] * np.sin(rate[:, None] * np.arange(70))
    y = np.stack([rate, height], axis=1)
    model = FilterBankRegressor(**SMALL).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.85
    large = FilterBankRegressor(**SMALL).fit(X[:60], y[:60] * [1e6, 1.0] + [0.0, 1e9])
    np.testing.assert_allclose(large.predict(X)[:, 0], model.predict(X)[:, 0] * 1e6, rtol=1e-5)
    np.testing.assert_allclose(large.predict(X)[:, 1], model.predict(X)[:, 1] + 1e9, atol=1e-4)
    constant = FilterBankRegressor(**SMALL).fit(X[:60], np.stack([rate[:60], np.full(60, 0.1)], 1))
    alone = FilterBankRegressor(**SMALL).fit(X[:60], rate[:60])
    assert constant.penalty_ == alone.penalty_
    np.testing.assert_allclose(constant.predict(X)[:, 1], 0.1)
    flat = FilterBankRegressor(**SMALL).fit(X[:60], rate[:60])
    assert flat.predict(X).shape == (80,)
    flat.save(tmp_path / "m")
    np.testing.assert_array_equal(
        FilterBankRegressor.load(tmp_path / "m").predict(X), flat.predict(X)
    )
