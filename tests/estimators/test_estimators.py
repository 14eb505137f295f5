"""Classifier and regressor: answers, streams, files, and scikit-learn's tools."""

import copy
import functools
import pickle
import signal
from fractions import Fraction

import jax
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

import fractal
from fractal.estimators import FractalClassifier, FractalRegressor, _classifier, _fit
from fractal.estimators._classifier import cross_entropy
from fractal.nn import FractalSSM, SequenceModel

from .conftest import TINY

SIZES = {"width": 8, "depth": 1, "order": 4}  # one for several tests: fewer compilations


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


def test_a_seed_makes_fits_equal_and_others_do_not(waves):
    fits = [FractalClassifier(**TINY | {"random_state": seed}).fit(*waves) for seed in (0, 0, 1)]
    one, two, other = (fit.predict_proba(waves[0]) for fit in fits)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_the_stream_predicts_as_predict_does_for_the_series_so_far(fitted, waves):
    x = waves[0][1][:40]
    found = fitted.predict_stream(x)
    assert found.labels.shape == (40,)
    for end in (1, 17, 40):
        expected = fitted.predict_proba([x[:end]])[0]
        np.testing.assert_allclose(found.probabilities[end - 1], expected, atol=1e-4)
    stream = fitted.stream()
    parts = [stream.push(x[:1]), stream.push(x[1:20]), stream.push(x[20:])]
    joined = np.concatenate([part.probabilities for part in parts])
    np.testing.assert_allclose(joined, found.probabilities, atol=1e-4)


def test_streams_of_one_model_are_compiled_once_and_independent(fitted, waves):
    x, other = waves[0][0][:16], waves[0][1][:16]
    alone = fitted.stream().push(x).probabilities
    one, two = fitted.stream(), fitted.stream()
    assert one._model._extend is two._model._extend
    found = []
    for start in range(0, 16, 4):
        found.append(one.push(x[start : start + 4]).probabilities)
        two.push(other[start : start + 4])
    np.testing.assert_allclose(np.concatenate(found), alone, rtol=1e-4)
    assert np.abs(alone - fitted.stream().push(other).probabilities).max() > 1e-3


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


@pytest.mark.parametrize(
    ("cases", "per_epoch"),  # of 10 cases 8 are trained on, of 36 there are 31, in batches of 8
    [(36, 4), pytest.param(10, 1, marks=pytest.mark.slow)],
)
def test_training_waits_for_20_epochs_and_300_steps(cases, per_epoch, waves):
    X, y = (part * 2 for part in (waves[0], waves[1].tolist()))
    model = FractalClassifier(width=4, depth=1, order=2, lr=1e-12, random_state=0, refit=False)
    model.fit(X[:cases], y[:cases])  # its loss does not fall after the first epoch
    assert len(model.history_) - 1 == min(max(20, 300 // per_epoch), 199)


def test_a_bidirectional_model_has_no_stream(fitted, waves):
    model, mixer = copy.copy(fitted), functools.partial(FractalSSM, bidirectional=True)
    model.model_ = SequenceModel(
        1, 2, tokens=False, width=2, depth=1, mixer=mixer, key=jax.random.key(0)
    )
    with pytest.raises(ValueError, match="bidirectional must be False"):
        model.predict_stream(waves[0][0])


@pytest.mark.slow
def test_a_bidirectional_model_is_fitted_and_has_no_stream(waves):
    model = FractalClassifier(**TINY, bidirectional=True).fit(*waves)
    assert model.predict(waves[0]).shape == (32,)
    with pytest.raises(ValueError, match="bidirectional must be False"):
        model.predict_stream(waves[0][0])


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


def test_pickle_and_joblib_keep_predictions(fitted, waves, tmp_path):
    joblib.dump(fitted, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(again.predict_proba(waves[0]), fitted.predict_proba(waves[0]))


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


def test_times_make_predictions_independent_of_the_sampling_rate(waves):
    X, y = waves
    times = [np.arange(len(x)) + 1.0 for x in X]
    model = FractalClassifier(**SIZES, max_epochs=10, random_state=0)
    model.fit(X, y, times)
    dense = [np.repeat(x, 2) for x in X]
    finer = [np.repeat(t, 2) - np.tile([0.5, 0], len(t)) for t in times]
    expected = model.predict_proba(X, times)
    with_times = np.abs(model.predict_proba(dense, finer) - expected).max()
    without = np.abs(model.predict_proba(dense) - expected).max()
    assert with_times < 0.05 < without


def test_class_weights_shift_probabilities(waves):
    X, y = waves
    model = FractalClassifier(**TINY, class_weight={"slow": 20.0, "fast": 1.0}).fit(X, y)
    plain = FractalClassifier(**TINY).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


def test_partial_fit_learns_from_parts(waves):
    X, y = waves
    model = FractalClassifier(**SIZES, random_state=0)
    losses = []
    for _ in range(8):
        for half in (slice(0, 16), slice(16, None)):
            model.partial_fit(X[half], y[half], classes=["slow", "fast"])
            losses.append(model.history_[-1]["loss"])
    assert losses[-1] < 0.7 * losses[0]
    with pytest.raises(ValueError, match="known classes only, got"):
        model.partial_fit(X[:1], ["other"])


def test_partial_fit_has_a_constant_learning_rate(waves, monkeypatch):
    rates = []

    def recording(fixed, model, opt_state, loss):
        rates.append(fixed[-1][0])
        return model, opt_state, 0.0

    monkeypatch.setattr(_fit, "_train_step", recording)
    model = FractalRegressor(**TINY, batch_size=1, lr=0.01)
    for _ in range(2):
        model.partial_fit(waves[0], np.arange(32.0))
    np.testing.assert_array_equal(rates, np.full(64, np.float32(0.01)))


def test_a_warm_start_continues_from_the_last_weights(waves, tmp_path):
    X, y = waves
    model = FractalClassifier(**TINY | {"max_epochs": 15}, warm_start=True).fit(X, y)
    first = model.history_[0]["loss"]
    assert model.fit(X, y).history_[0]["loss"] < first
    with pytest.raises(ValueError, match="known classes"):
        model.fit(X, np.where(y == "slow", "other", y))
    model.set_params(width=8)
    line = "^width must be 4 as in the last fit, whose model is continued, got 8$"
    model.save(tmp_path / "model")
    for one in (model, FractalClassifier.load(tmp_path / "model")):
        with pytest.raises(ValueError, match=line):
            one.fit(X, y)
        with pytest.raises(ValueError, match=line):
            one.partial_fit(X, y)


def test_one_compiled_step_serves_all_learning_rates_and_weight_decays(waves, monkeypatch):
    traced = []

    def loss(outputs, targets):
        traced.append(1)
        return cross_entropy(outputs, targets)

    monkeypatch.setattr(_classifier, "cross_entropy", loss)
    X, y = waves  # one batch: each call of partial_fit is one step from the same weights

    def stepped(lr, weight_decay):
        model = FractalClassifier(**TINY, batch_size=32, lr=lr, weight_decay=weight_decay)
        model.partial_fit(X, y, classes=["slow", "fast"])
        mixer = model.model_.blocks[0].mixer
        return [np.asarray(one) for one in (model.model_.encoder.weight, mixer.log_dt)]

    start, *steps = (stepped(*one) for one in ((1e-30, 0), (1e-3, 0), (2e-3, 0), (2e-3, 50)))
    assert len(traced) == 1
    for index, decay in ((0, 0.1), (1, 0.0)):  # step sizes do not decay
        small, large, decayed = (one[index] - start[index] for one in steps)
        np.testing.assert_allclose(large, 2 * small, rtol=1e-3, atol=1e-7)
        np.testing.assert_allclose(decayed - large, -decay * start[index], rtol=1e-3, atol=1e-7)
        assert np.abs(small).max() > 1e-4


def test_a_setting_without_a_form_in_json_is_named_before_a_file_is_written(fitted, tmp_path):
    model = copy.copy(fitted).set_params(lr=Fraction(1, 100))
    with pytest.raises(ValueError, match=r"^lr: is a Fraction, not a number, a string or a list"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    model.set_params(lr=np.float32(0.5), class_weight={3: 1.0, "a": 2}).save(tmp_path / "model")
    again = FractalClassifier.load(tmp_path / "model")
    assert again.get_params() == model.get_params() | {"class_weight": {3: 1.0, "a": 2}}


def _interrupt_step(monkeypatch, number):
    """Ctrl-C in a train step; returns the list of steps that were made."""
    step, calls = _fit._train_step, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == number:
            signal.raise_signal(signal.SIGINT)
        return step(*arguments)

    monkeypatch.setattr(_fit, "_train_step", interrupted)
    return calls


@pytest.mark.parametrize("refit", [False, True])
def test_ctrl_c_ends_the_training_without_a_refit(waves, monkeypatch, refit):
    calls = _interrupt_step(monkeypatch, 6)
    model = FractalClassifier(**TINY | {"max_epochs": 50}, refit=refit)
    with pytest.warns(ConvergenceWarning, match="interrupted in epoch 2; the best weights"):
        model.fit(*waves)
    assert len(calls) == 6
    assert model.predict(waves[0]).shape == (32,)


def test_ctrl_c_in_the_refit_keeps_the_first_training(waves, monkeypatch):
    calls = _interrupt_step(monkeypatch, 0)
    first = FractalClassifier(**TINY, refit=False).fit(*waves)
    steps = len(calls)
    again = _interrupt_step(monkeypatch, steps + 1)
    model = FractalClassifier(**TINY, refit=True)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(*waves)
    assert len(again) == steps + 1
    np.testing.assert_array_equal(model.predict_proba(waves[0]), first.predict_proba(waves[0]))


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
