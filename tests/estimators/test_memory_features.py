"""Features of the memory."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import fractal
from fractal.estimators import MemoryFeatures


def test_features_are_the_coefficients_of_the_memory_of_the_scaled_series(rng):
    X = [rng.normal(3, 2, (2, length)) for length in (30, 30, 45)]
    features = MemoryFeatures(alphas=(0.5,), orders=(4, 8), differences=False).fit(X)
    found = features.transform(X)
    steps = np.concatenate(X, axis=1)
    for case, row in zip(X, found, strict=True):
        scaled = ((case.T - steps.mean(axis=1)) / steps.std(axis=1)).astype(np.float32)
        expected = [
            fractal.OnlineMemory(0.5, order, channels=2).push(scaled).coefficients.ravel()
            for order in (4, 8)
        ]
        np.testing.assert_allclose(row, np.concatenate(expected), rtol=1e-6, atol=1e-9)


def test_features_hardly_depend_on_the_sampling_rate(rng):
    coarse = np.cumsum(rng.normal(size=(5, 200)), axis=1)
    features = MemoryFeatures(orders=(8,), differences=False).fit(coarse)
    fine = np.repeat(coarse, 4, axis=1)
    np.testing.assert_allclose(features.transform(fine), features.transform(coarse), atol=1e-6)
    assert features.get_feature_names_out().shape == (features.transform(fine).shape[1],)


def test_features_separate_slopes_in_a_pipeline(rng):
    y = np.repeat([0, 1], 30)
    X = [np.cumsum(rng.normal(label / 3, 1, rng.integers(8, 11) * 8)) for label in y]
    model = make_pipeline(MemoryFeatures(), LogisticRegression(max_iter=2000))
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.8
