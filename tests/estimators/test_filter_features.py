"""Features of random filters."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fractal.estimators import FilterBankFeatures, _filter_features
from fractal.estimators._filters import draw_filters, outputs


def brute_force(features, X, times):
    """Shares of time above thresholds, by a loop over samples in complex double precision."""
    decay, rotation, weights = (one.astype(float) for one in features._filters)
    rates, steps = decay + 1j * rotation, np.concatenate([x.T for x in X])
    mean, scale = steps.mean(axis=0), steps.std(axis=0)
    cases = [
        ((x.T - mean) / scale, np.diff(t, prepend=t[0] - 1)) for x, t in zip(X, times, strict=True)
    ]
    slopes = [np.diff(x, axis=0, prepend=x[:1]) / dt[:, None] for x, dt in cases]
    slopes = [one / np.concatenate(slopes).std(axis=0) for one in slopes]
    found = np.zeros((len(X), *features._thresholds.shape))
    for row, ((x, dt), slope) in enumerate(zip(cases, slopes, strict=True)):
        z = np.zeros(len(rates), complex)
        for u, duration in zip(np.concatenate([x, slope], axis=1) @ weights, dt, strict=True):
            gate = np.exp(-rates * duration)
            z = gate * z + (1 - gate) / rates * u
            y = (1j * rates / np.abs(rates) * z).real
            found[row] += duration * (y[:, None] > features._thresholds)
        found[row] /= dt.sum()
    return found.reshape(len(X), -1)


def test_features_are_shares_of_time_above_thresholds(rng):
    X = [np.cumsum(rng.normal(size=(2, length)), axis=1) for length in (40, 40, 57)]
    gaps = [rng.choice([0.5, 1.0, 3.0], x.shape[1]) for x in X]
    times = [np.cumsum(gap) - gap[0] + 1 for gap in gaps]
    unit = np.median(np.concatenate([np.diff(one) for one in times]))
    assert unit == 1.0  # durations are in units of the median
    features = FilterBankFeatures(12, n_thresholds=2, orders=(4,), random_state=0)
    found = features.fit(X, times=times).transform(X, times=times)
    expected = brute_force(features, X, times)
    # Rounding may move a sample across a threshold.
    assert np.abs(found - expected).max() <= 3.0 / 40
    np.testing.assert_allclose(found.mean(axis=0), expected.mean(axis=0), atol=0.02)
    assert np.mean(np.abs(found - expected) > 1e-5) < 0.1


def test_a_filter_does_not_respond_to_a_constant(rng):
    for clock in ("uniform", "scale-invariant"):
        features = FilterBankFeatures(8, n_thresholds=1, clock=clock, random_state=0)
        features.fit(rng.normal(size=(4, 100)))
        features._thresholds[:] = 1e-3
        late = features.transform(np.full((1, 20_000), 5.0))
        assert late.max() < 0.1


def test_thresholds_are_quantiles_of_outputs_on_training_cases(rng):
    X = rng.normal(size=(30, 80))
    shares = FilterBankFeatures(200, n_thresholds=3, random_state=0).fit(X).transform(X)
    np.testing.assert_allclose(np.quantile(shares, (0.25, 0.5, 0.75)), (0.25, 0.5, 0.75), atol=0.05)


def waves(rng, count=40):
    """Waves of two frequencies in noise, of unequal lengths."""
    y = np.arange(count) % 2
    lengths = rng.integers(90, 120, count)
    X = [
        np.sin((0.25 + 0.1 * label) * np.arange(length) + rng.uniform(0, 6))
        + rng.normal(0, 0.5, length)
        for label, length in zip(y, lengths, strict=True)
    ]
    return X, y


def classifier(**settings):
    features = FilterBankFeatures(100, random_state=0, **settings)
    return make_pipeline(features, StandardScaler(), RidgeClassifierCV(np.logspace(-3, 3, 10)))


def test_frequencies_are_separated_in_a_pipeline(rng):
    (X, y), (test, truth) = waves(rng), waves(rng)
    assert classifier().fit(X, y).score(test, truth) > 0.9


def smooth(rng, count):
    """Sums of slow waves on [0, 1], as functions."""
    phases = rng.uniform(0, 2 * np.pi, (count, 3))
    return [lambda t, p=p: sum(np.sin((6 + 5 * k) * t + p[k]) for k in range(3)) for p in phases]


@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
def test_features_keep_at_another_rate(rng, clock):
    curves = smooth(rng, 12)
    coarse, fine = np.arange(1, 151) / 150, np.arange(1, 601) / 600
    X, finer = (np.stack([curve(t) for curve in curves]) for t in (coarse, fine))
    features = FilterBankFeatures(40, orders=(4, 8), clock=clock, random_state=0)
    if clock == "uniform":
        features.fit(X, times=coarse)
        kept = features.transform(finer, times=fine) - features.transform(X, times=coarse)
        lost = features.fit(X).transform(finer) - features.transform(X)
        assert np.abs(lost).mean() > 5 * np.abs(kept).mean()
    else:  # the rate need not be known
        kept = features.fit(X).transform(finer) - features.transform(X)
    assert np.abs(kept).mean() < 0.03


def test_a_long_series_among_short_ones_does_not_change_the_memory_of_thresholds(rng, monkeypatch):
    X = [rng.normal(size=length) for length in (*[60] * 9, 900)]
    expected = FilterBankFeatures(31, random_state=0).fit(X)._thresholds
    monkeypatch.setattr(_filter_features, "_MOST_OUTPUTS", 2000)
    sizes = []

    def counted(*arguments):
        found = outputs(*arguments)
        sizes.append(found.size)
        return found

    monkeypatch.setattr(_filter_features, "outputs", counted)
    found = FilterBankFeatures(31, random_state=0).fit(X)._thresholds
    assert max(sizes) <= 2000
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_long_gap_keeps_features_finite_on_the_scale_invariant_clock(rng):
    X, times = rng.normal(size=(4, 50)), np.arange(50.0)
    times[1:] += 1e9
    features = FilterBankFeatures(20, clock="scale-invariant", random_state=0)
    assert features.fit(X, times=times).transform(X, times=times).max() > 0.5
    assert np.isfinite(features._thresholds).all()


def test_padding_and_other_cases_do_not_change_features(rng):
    X = [rng.normal(size=length) for length in (20, 33, 50)]
    features = FilterBankFeatures(20, random_state=0).fit(X)
    together = features.transform(X)
    for x, row in zip(X, together, strict=True):
        np.testing.assert_array_equal(features.transform([x])[0], row)


def test_a_seed_reproduces_features_and_another_does_not(rng):
    X = rng.normal(size=(5, 40))
    found = [FilterBankFeatures(9, random_state=seed).fit(X).transform(X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_settings_changed_after_fit_need_another_fit(rng):
    X = rng.normal(size=(5, 40))
    features = FilterBankFeatures(9, random_state=0).fit(X)
    before = features.transform(X)
    features.set_params(clock="scale-invariant", differences=False, n_filters=3)
    np.testing.assert_array_equal(features.transform(X), before)
    assert features.fit(X).transform(X).shape == (5, 12)


def test_without_differences_filters_read_values_only(rng):
    X = rng.normal(size=(5, 3, 40))
    features = FilterBankFeatures(9, differences=False, random_state=0).fit(X)
    assert features._filters.weights.shape == (3, 9)
    assert features.transform(X).shape == (5, 36) == (5, len(features.get_feature_names_out()))


@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
def test_filters_turn_at_most_half_around_per_sample(rng, clock):
    found = draw_filters(rng, 500, [np.arange(2)], (0.0, 0.9), (4, 64), clock, 200.0)
    last = 1.0 if clock == "uniform" else 1 / 200  # logarithmic time of the last sample
    assert (found.rotation * last <= np.pi * 1.0001).all()
    assert (found.decay > 0).all()
    assert (np.abs(found.weights).sum(axis=0) > 0).all()
