"""Streams: a prediction after every sample."""

import copy
import functools
import pickle

import equinox as eqx
import jax
import numpy as np
import pytest
from sklearn.base import clone

from fractal.estimators import FractalClassifier
from fractal.nn import FractalSSM, SequenceModel

from .conftest import TINY


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


def test_estimators_have_compiled_streams_of_their_own_which_pickles_leave_out(fitted, waves):
    other = pickle.loads(pickle.dumps(fitted))
    one, _, two = fitted.stream(), other.stream(), fitted.stream()
    assert one._model._extend is two._model._extend
    for made in (copy.copy(fitted), pickle.loads(pickle.dumps(fitted)), clone(fitted)):
        assert "_compiled" not in vars(made)
    expected = fitted.predict_stream(waves[0][0][:4])
    other.model_ = jax.tree.map(lambda x: 2 * x if eqx.is_inexact_array(x) else x, other.model_)
    found = other.predict_stream(waves[0][0][:4])  # of its present model
    assert np.abs(found.probabilities - expected.probabilities).max() > 1e-3


def test_dates_continue_from_one_push_to_the_next(fitted, waves):
    x, dates = waves[0][0][:9], np.datetime64("2026-03-01") + np.arange(9) * np.timedelta64(1, "s")
    numbers = fitted.predict_stream(x, np.arange(9)).probabilities
    stream = fitted.stream()
    parts = [stream.push(x[:4], dates[:4]), stream.push(x[4:], dates[4:])]
    np.testing.assert_array_equal(np.concatenate([one.probabilities for one in parts]), numbers)
    with pytest.raises(ValueError, match=r"^times must be datetime64 values as before$"):
        stream.push(x[:1], [99.0])
    with pytest.raises(ValueError, match=r"^times must be later than the last one, 8, got 3$"):
        stream.push(x[:1], dates[3:4])
    with pytest.raises(ValueError, match=r"^times must have one entry per step, \(9,\), got \(\)$"):
        fitted.stream().push(x, 0.01)


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
