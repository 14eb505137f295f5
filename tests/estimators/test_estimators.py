"""Classifier and regressor: predictions, scikit-learn's tools, and invalid input."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

from fractal.estimators import FractalClassifier, FractalRegressor, MemoryFeatures

from .conftest import SIZES, TINY


def test_waves_of_unequal_lengths_are_classified(fitted, waves):
    X, y = waves
    assert fitted.score(X, y) > 0.9
    assert fitted.classes_.tolist() == ["fast", "slow"]
    found = fitted.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert (fitted.classes_[found.argmax(axis=1)] == fitted.predict(X)).all()


def test_padding_and_other_cases_of_a_batch_do_not_change_a_prediction(fitted, waves):
    X, _ = waves
    alone = np.concatenate([fitted.predict_proba([x]) for x in X[:3]])
    np.testing.assert_allclose(fitted.predict_proba(X)[:3], alone, atol=1e-5)


def test_small_values_count_beside_large_ones_in_fits_streams_and_files(tmp_path):
    # Half of the cases are a million times larger: their shape alone tells the classes apart.
    rng = np.random.default_rng(0)
    y = np.array(["rises", "falls"] * 24)
    sizes = np.repeat([1e-3, 1e3], 24)[:, None]
    slopes = np.where(y == "rises", 1.0, -1.0)[:, None]
    X = sizes * (slopes * np.linspace(-1, 1, 40) + 0.1 * rng.normal(size=(48, 40)))
    model = FractalClassifier(width=8, depth=1, order=4, max_epochs=30, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "model")
    again = FractalClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    found = model.predict_stream(X[0]).probabilities[-1]
    np.testing.assert_allclose(found, model.predict_proba(X[:1])[0], atol=1e-5)


def test_a_clone_is_not_fitted(fitted, waves):
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        again.predict(waves[0])


def test_grid_search_pipelines_and_cross_validation_take_series_as_they_are(waves):
    X, y = waves
    pipeline = Pipeline([("model", FractalClassifier(**TINY))])
    search = GridSearchCV(pipeline, {"model__lr": [1e-3, 1e-2]}, cv=2).fit(X, y)
    assert search.best_params_["model__lr"] in (1e-3, 1e-2)
    assert cross_val_score(FractalClassifier(**TINY), X, y, cv=2).shape == (2,)


def test_labels_of_a_table_are_found_by_id(waves):
    X, y = waves
    table = pd.concat(
        pd.DataFrame({"id": i, "time": np.arange(len(x)), "x": x}) for i, x in enumerate(X)
    )
    labels = pd.Series(y, index=range(len(X)))
    settings = TINY | SIZES
    model = FractalClassifier(**settings).fit(table, labels.sample(frac=1, random_state=0))
    other = FractalClassifier(**settings).fit(X, y, [np.arange(len(x)) for x in X])
    np.testing.assert_array_equal(model.predict_proba(table), other.predict_proba(table))


def test_times_make_predictions_independent_of_the_sampling_rate(waves, tmp_path):
    X, y = waves
    times = [np.arange(len(x)) + 1.0 for x in X]
    model = FractalClassifier(**SIZES, max_epochs=10, random_state=0)
    model.fit(X, y, times)
    dense = [np.repeat(x, 2) for x in X]
    finer = [np.repeat(t, 2) - np.tile([0.5, 0], len(t)) for t in times]
    expected = model.predict_proba(X, times)
    with_times = np.abs(model.predict_proba(dense, finer) - expected).max()
    line = "times were given in fit, but not here: every sample is taken to last 1, the median"
    with pytest.warns(UserWarning, match=line):
        without = np.abs(model.predict_proba(dense) - expected).max()
    assert with_times < 0.05 < without
    with pytest.warns(UserWarning, match=line):
        model.predict_stream(X[0])
    model.save(tmp_path / "model")
    with pytest.warns(UserWarning, match=line):
        FractalClassifier.load(tmp_path / "model").predict(X)


class Recording(FractalClassifier):
    """Predicts the first class, and records which cases have the times that belong to them."""

    right: ClassVar[list[tuple[str, bool]]] = []

    def fit(self, X, y, times=None):
        self.classes_ = np.unique(y)
        return self._record("fit", X, times)

    def score(self, X, y, sample_weight=None, times=None):
        self._record("score", X, times)
        return 0.0

    def _record(self, method, X, times):
        given = times is not None and all(
            len(t) == len(x) and t[-1] == x.sum() for x, t in zip(X, times, strict=True)
        )
        self.right.append((method, given))
        return self


def test_scikit_learn_routes_the_times_of_each_case_to_fit_and_score(waves):
    X, y = waves
    times = [np.linspace(0, 1, len(x)) * x.sum() for x in X]
    model = Recording(**TINY)
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(times=True).set_score_request(times=True)
        cross_val_score(model, X, y, cv=2, params={"times": times})
        GridSearchCV(model, {"lr": [1e-3]}, cv=2).fit(X, y, times=times)
    assert sorted(model.right) == [("fit", True)] * 5 + [("score", True)] * 4


def test_scores_of_a_search_without_the_times_of_fit_are_a_warning(waves):
    X, y = waves
    times = [np.arange(len(x)) + 1.0 for x in X]
    search = GridSearchCV(FractalClassifier(**TINY), {"lr": [1e-3]}, cv=2, refit=False)
    with pytest.warns(UserWarning, match="times were given in fit, but not here"):
        search.fit(X, y, times=times)
    with config_context(enable_metadata_routing=True):
        search.estimator.set_fit_request(times=True).set_score_request(times=True)
        search.fit(X, y, times=times)
        features = MemoryFeatures(orders=(2,))
        features.set_fit_request(times=True).set_transform_request(times=True)
        pipeline = make_pipeline(features, RidgeClassifier()).fit(X, y, times=times)
        expected = features.transform(X, times)
        found = pipeline.predict(X, times=times)
    np.testing.assert_array_equal(found, pipeline[-1].predict(expected))


def test_the_regressor_predicts_one_number_or_several_and_streams_them(waves, tmp_path):
    X, y = waves
    targets = np.where(y == "slow", -100.0, 300.0)
    model = FractalRegressor(**SIZES, max_epochs=15, random_state=0).fit(X, targets)
    assert model.score(X, targets) > 0.5
    stream = model.predict_stream(X[0])
    np.testing.assert_allclose(stream[-1], model.predict(X[:1])[0], rtol=1e-3)
    both = FractalRegressor(**TINY).fit(X, np.stack([targets, -targets], axis=1))
    assert both.predict(X).shape == (32, 2)
    both.save(tmp_path / "m.safetensors")
    again = FractalRegressor.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict(X), both.predict(X))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: m.fit(X[:1], y[:1]), "at least two classes, got 1"),
        (lambda m, X, y: m.fit(X, ["a"] * len(X)), "at least two classes"),
        (lambda m, X, y: m.fit(X, y[:-1]), "one entry per case"),
        (lambda m, X, y: m.fit(X, [*y[:-1], None]), "every case, got None for case 31"),
        (lambda m, X, y: m.fit(X, [*y[:-1], np.nan]), "every case, got nan for case 31"),
        (lambda m, X, y: m.fit(X, pd.Series([*y[:-1], pd.NA])), "every case, got <NA> for case 31"),
        (lambda m, X, y: m.fit(X, np.array([*y[:-1], np.nan], object)), "got nan for case 31"),
        (lambda m, X, y: m.fit(X, np.array([*y[:-1], 3], object)), "labels that can be sorted"),
        (lambda m, X, y: m.partial_fit(X, [*y[:-1], None], ["a", "b"]), "got None for case 31"),
        (lambda m, X, y: m.fit([*X[:-1], np.full(9, np.nan)], y), "case 31 is all NaN"),
        (lambda m, X, y: m.fit([*X[:-1], np.full(9, np.inf)], y), "infinite"),
        (lambda m, X, y: m.fit(X, y, [-1.0 - np.arange(len(x)) for x in X]), "negative"),
        (lambda m, X, y: m.partial_fit(X, y), "classes must be given"),
        (lambda m, X, y: clone(m).set_params(clock="fast").fit(X, y), "clock must be one of"),
        (lambda m, X, y: clone(m).set_params(lr=0).fit(X, y), "lr must be"),
        (lambda m, X, y: clone(m).set_params(width=0).fit(X, y), "width must be"),
        (lambda m, X, y: clone(m).set_params(max_epochs=0).fit(X, y), "max_epochs must be"),
        (lambda m, X, y: clone(m).set_params(class_weight="even").fit(X, y), "class_weight must"),
        (lambda m, X, y: clone(m).set_params(class_weight={9: 1}).fit(X, y), "class_weight must"),
    ],
)
def test_invalid_input_is_one_line(call, message, waves):
    with pytest.raises(ValueError, match=message) as raised:
        call(FractalClassifier(**TINY), *waves)
    assert "\n" not in str(raised.value)


def test_another_number_of_channels_is_one_line(fitted):
    with pytest.raises(
        ValueError, match="X: has 2 channels, but FractalClassifier was fitted with"
    ):
        fitted.predict(np.ones((3, 2, 9)))
    with pytest.raises(ValueError, match="samples must have shape"):
        fitted.predict_stream(np.ones((2, 9)))
