"""Streams: a prediction after every sample."""

import copy
import functools

import jax
import numpy as np
import pytest

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
