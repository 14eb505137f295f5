"""The forecaster, compared with loops, least squares and its own forecasts from scratch."""

import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import r2_score

from fractal.estimators import FractalForecaster
from fractal.estimators._forecast_network import corrected_quantiles
from fractal.estimators._histories import extended, local_scale
from fractal.estimators._lag_regression import Origins, fit_lag_regression, refitted

RNG = np.random.default_rng(0)
SMALL = {"width": 4, "depth": 1, "order": 2, "context": 24, "random_state": 0}


def waves(steps, series=2):
    time = np.arange(steps)
    phase = np.arange(series)[:, None]
    noise = np.random.default_rng(1).normal(0, 0.1, (steps, series)).T  # a longer one continues it
    return (1 + phase) * np.sin(2 * np.pi * time / 12 + phase) + 0.01 * time + noise


@pytest.fixture(scope="module")
def fitted():
    return FractalForecaster(horizon=6, max_steps=25, period=12, **SMALL).fit(waves(200))


@pytest.mark.parametrize("gaps", [(0.0, 0.0, 0.0), (0.2, 0.0, 0.7)])
def test_the_linear_part_is_a_ridge_regression_on_lags_and_covariates(gaps):
    past, future = RNG.normal(size=(80, 5)), RNG.normal(size=(80, 3))
    changes, weight = RNG.normal(size=(80, 3, 2)), RNG.uniform(0.5, 2, 80)
    known = RNG.random((80, 3)) >= gaps
    origins = [Origins(past, changes, np.where(known, future, 1e3), weight, known)]
    chosen, _ = fit_lag_regression(origins, origins, None)
    found = refitted(chosen._replace(base="last", penalty=0.1), origins)
    for h in range(3):
        rows = known[:, h]
        x = ((past - past[:, -1:]) * weight[:, None])[rows]
        lag_penalty = 0.1 * np.trace(x.T @ x) / 5
        c, y = changes[rows, h] * weight[rows, None], ((future[:, h] - past[:, -1]) * weight)[rows]
        penalty = np.sqrt([lag_penalty] * 5 + [0.1 * np.trace(c.T @ c) / 2] * 2)
        design = np.vstack([np.hstack([x, c]), np.diag(penalty)])
        expected = np.linalg.lstsq(design, np.r_[y, np.zeros(7)], rcond=None)[0]
        np.testing.assert_allclose(found.weights[:, h], expected[:5], atol=1e-5)
        np.testing.assert_allclose(found.effects[h], expected[5:], atol=1e-5)


def test_the_linear_part_is_no_worse_than_a_trivial_forecast_where_it_is_chosen():
    past, future = RNG.normal(size=(30, 20)), RNG.normal(size=(30, 4))  # nothing to learn
    none = np.zeros((30, 4, 0))
    training = Origins(past, none, future, np.ones(30), np.ones((30, 4), bool))
    held = Origins(RNG.normal(size=(50, 20)), np.zeros((50, 4, 0)), RNG.normal(size=(50, 4)),
                   np.ones(50), RNG.random((50, 4)) < 0.8)  # fmt: skip
    _, error = fit_lag_regression([training], [held], None)
    mean = held.past.mean(axis=1, keepdims=True)
    assert error <= np.mean((held.future - mean)[held.known] ** 2)


def test_gaps_are_neither_fitted_nor_scored():
    rng = np.random.default_rng(3)
    y = np.sin(2 * np.pi * np.arange(1500) / 12) + 0.2 * rng.normal(size=1500)
    y[np.repeat(rng.random(250) < 0.6, 6)] = np.nan
    filled = pd.Series(y[:1200]).ffill().to_numpy()  # as if repeated values were observed
    errors, coverage = [], []
    for history in (y[:1200], filled):
        forecaster = FractalForecaster(horizon=6, max_steps=0, **SMALL).fit(history)
        found = forecaster.backtest(y, start=1200)
        errors.append(found["mse"])
        coverage.append(list(found["coverage"].values()))
    away = np.abs(np.array(coverage) - [0.1, 0.5, 0.9]).max(axis=1)
    assert errors[0] < 0.8 * errors[1]
    assert away[0] < 0.06 < away[1]


def test_a_series_whose_end_is_lost_cannot_choose_a_forecast():
    y = np.where(np.arange(200) < 160, waves(200), np.nan)
    with pytest.raises(ValueError, match=r"^y: has no values in the last 40 steps of its series"):
        FractalForecaster(horizon=6, max_steps=0, **SMALL).fit(y)
    y[0, 170] = 1.0  # one is enough
    forecaster = FractalForecaster(horizon=6, max_steps=0, **SMALL).fit(y)
    assert np.isfinite(forecaster.predict_quantiles()).all()


def test_local_scales_are_those_of_a_loop():
    values = RNG.normal(5, 2, (2, 30))
    mean, spread = local_scale(extended(values, 7), 7)
    for step in range(30):
        window = extended(values, 7)[:, step + 1 : step + 8]
        np.testing.assert_allclose(mean[:, step], window.mean(axis=1))
        np.testing.assert_allclose(spread[:, step], window.std(axis=1), atol=1e-12)


def test_quantiles_never_cross():
    start = np.sort(RNG.normal(size=(5, 4)), axis=1)
    found = corrected_quantiles(RNG.normal(0, 5, (100, 5, 4)), start, 1, np)
    assert (np.diff(found, axis=-1) >= 0).all()
    np.testing.assert_allclose(corrected_quantiles(np.zeros((5, 4)), start, 1, np), start)


def test_an_update_forecasts_as_the_whole_history_does(fitted):
    y = waves(260)  # begins with the series of `fitted`; its context is 24 steps
    stepwise = pickle.loads(pickle.dumps(fitted))
    for start, end in ((200, 201), (201, 210), (210, 260)):
        stepwise.update(y[:, start:end])
        whole = y[:, :end]
        np.testing.assert_allclose(stepwise.predict(), fitted.predict(whole), atol=1e-4)
        quantiles = fitted.predict_quantiles(whole)
        np.testing.assert_allclose(stepwise.predict_quantiles(), quantiles, atol=1e-4)
    assert np.abs(stepwise.predict() - fitted.predict()).max() > 0.1


def test_an_update_without_values_continues_the_last_one(fitted):
    y = np.concatenate([waves(200), np.full((2, 5), np.nan)], axis=1)
    y[0, 200:] = 1.0
    updated = pickle.loads(pickle.dumps(fitted)).update(y[:, 200:])
    np.testing.assert_allclose(updated.predict(), fitted.predict(y), atol=1e-4)


def test_a_backtest_is_a_loop_over_origins(fitted):
    y = waves(120)
    found = fitted.backtest(y, start=100, stride=7)
    errors = [y[:, t : t + 6] - fitted.predict(y[:, :t]) for t in range(100, 115, 7)]
    assert found["origins"] == 6
    assert found["mse"] == pytest.approx(np.mean(np.square(errors)), rel=1e-3)
    assert found["mae"] == pytest.approx(np.mean(np.abs(errors)), rel=1e-3)
    assert fitted.score(y) > 0.5


def test_r2_is_the_mean_over_channels_each_against_its_own_mean(fitted):
    y = waves(120) + np.array([[0], [1e6]])  # their levels explain nothing
    y[0, 105] = np.nan
    found = fitted.backtest(y[None], start=100, stride=7, keep=True)
    pairs = zip(*(found[name].reshape(2, -1) for name in ("targets", "forecasts")), strict=True)
    known = [(truth[~np.isnan(truth)], points[~np.isnan(truth)]) for truth, points in pairs]
    expected = np.mean([r2_score(*one) for one in known])
    assert found["r2"] == pytest.approx(expected, rel=1e-6)
    assert found["r2"] < 0.99


def test_r2_of_constant_targets_is_that_of_scikit_learn(fitted):
    y = np.stack([np.full(120, 0.1), np.r_[np.zeros(114), np.ones(6)]])
    found = fitted.backtest(y, start=114, keep=True)
    assert found["r2"] == r2_score(found["targets"].T, found["forecasts"].T) == 0.5


def test_a_backtest_of_unequal_series_has_a_start_for_each(fitted):
    y = [waves(120)[0], waves(120)[1, :80]]
    both = fitted.backtest(y, start=[100, 61], stride=7)
    alone = [fitted.backtest(y[0], start=100, stride=7), fitted.backtest(y[1], start=61, stride=7)]
    assert both["origins"] == sum(one["origins"] for one in alone) == 5
    total = sum(one["origins"] * one["mse"] for one in alone)
    assert both["mse"] == pytest.approx(total / 5, rel=1e-3)
    with pytest.raises(ValueError, match=r"^start must be one number, or one per series, 2, got 3"):
        fitted.backtest(y, start=[1, 2, 3])


def test_the_default_context_contains_a_season():
    y = RNG.normal(size=2600)  # a fifth is held out
    for period, lags in ((24, 512), (672, 672)):
        forecaster = FractalForecaster(horizon=1, period=period, width=4, depth=1, max_steps=0)
        assert forecaster.fit(y).context_ == lags


def test_forecasts_follow_the_units_of_the_series(fitted):
    y = waves(150)
    expected = 1000 * fitted.predict(y) - 5e4
    np.testing.assert_allclose(fitted.predict(1000 * y - 5e4), expected, atol=1)


def test_shapes_are_those_of_the_series(fitted):
    y = waves(150)
    assert fitted.predict(y[0]).shape == (6,)
    assert fitted.predict(y[None]).shape == (1, 2, 6)
    assert fitted.predict([y[0], y[1, :99]]).shape == (2, 1, 6)
    assert fitted.predict_quantiles(y).shape == (2, 6, 3)
    assert (np.diff(fitted.predict_quantiles(y), axis=-1) >= 0).all()
    np.testing.assert_allclose(fitted.predict([y[1, :99]])[0, 0], fitted.predict(y[1, :99]))


LINEAR = {**SMALL, "horizon": 6, "max_steps": 0}


def long(y, start=0, names="ab"):
    """The series (series, time) as a long table, with its rows in the order of time."""
    table = pd.DataFrame(y.T, columns=list(names)).assign(time=start + np.arange(y.shape[1]))
    return table.melt("time", var_name="id", value_name="load").sort_values(["time", "id"])


def test_the_rows_of_a_data_frame_are_time_and_its_columns_channels():
    y, known = waves(100), RNG.normal(size=(1, 106))
    frame = pd.DataFrame(y.T, columns=["load", "wind"])
    expected = FractalForecaster(**LINEAR).fit(y[None], known)
    found = FractalForecaster(**LINEAR).fit(frame, pd.DataFrame(known.T))
    ahead = pd.DataFrame(known[:, 100:].T)
    assert found.predict(X=ahead).shape == (1, 2, 6)
    np.testing.assert_array_equal(found.predict(X=ahead), expected.predict(X=known[:, 100:]))
    np.testing.assert_array_equal(found.predict([frame], known), expected.predict(y[None], known))
    timed = frame.assign(time=pd.date_range("2026-01-01", periods=100)).sample(frac=1)
    np.testing.assert_array_equal(found.predict(timed, known), expected.predict(y[None], known))


def test_a_long_table_has_several_series_which_an_update_finds_by_id(tmp_path):
    y = waves(110)
    expected = FractalForecaster(**LINEAR).fit(list(y[:, :100]))
    FractalForecaster(**LINEAR).fit(long(y[:, :100])).save(tmp_path / "f")
    found = FractalForecaster.load(tmp_path / "f")
    assert found.ids_ == ["a", "b"]
    np.testing.assert_array_equal(found.predict(), expected.predict())
    found.update(long(y[::-1, 100:], 100, "ba").iloc[::-1])
    np.testing.assert_array_equal(found.predict(), expected.update(list(y[:, 100:])).predict())
    with pytest.raises(ValueError, match=r"^y must have the ids of fit, all and no others: 'b'$"):
        found.update(long(y[:, 100:], 100, "ac"))


@pytest.mark.parametrize(
    ("y", "line"),
    [
        (pd.DataFrame({"x": [1.0, 2]}, index=[1, 0]), "must have its rows in the order of time"),
        (pd.DataFrame({"x": pd.date_range("2026", periods=2)}), "must have numbers in column 'x'"),
        (pd.DataFrame({"x": ["a", "b"]}), "must have numbers in column 'x'"),
        (pd.DataFrame({"id": [1, 1], "x": [1, 2]}), "must have values only in its columns"),
        (pd.DataFrame({"x": [1, 2]}, index=[[1, 1], [1, 2]]), "must have one index: call reset_"),
        (pd.DataFrame({"time": [1, 1], "x": [1, 2]}), "must have distinct times"),
        (pd.DataFrame(index=[1, 2]), "must not be empty"),
    ],
)
def test_other_data_frames_are_one_line(y, line):
    with pytest.raises(ValueError, match=f"^y {line}") as caught:
        FractalForecaster(**LINEAR).fit(y)
    assert "\n" not in str(caught.value)


def test_a_constant_series_is_forecast_by_its_value(fitted):
    np.testing.assert_array_equal(fitted.predict(np.full(50, 3.0)), 3.0)


def test_a_saved_forecaster_resumes_as_the_one_in_memory(fitted, tmp_path):
    fitted.save(tmp_path / "f.safetensors")
    loaded = FractalForecaster.load(tmp_path / "f.safetensors")
    np.testing.assert_array_equal(loaded.predict(), fitted.predict())
    more = waves(210)[:, 200:]
    copy = pickle.loads(pickle.dumps(fitted)).update(more)
    np.testing.assert_array_equal(loaded.update(more).predict(), copy.predict())
    (tmp_path / "f.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is not a forecaster that save wrote"):
        FractalForecaster.load(tmp_path / "f.safetensors")


def test_equal_seeds_give_equal_forecasts(fitted):
    again = clone(fitted).fit(waves(200))
    np.testing.assert_array_equal(again.predict(), fitted.predict())
    assert again.get_params() == fitted.get_params()


def test_an_interrupt_keeps_the_best_network_so_far(monkeypatch):
    from fractal.estimators import _forecast_training

    def interrupting(*args, step=_forecast_training.train_step):
        os.kill(os.getpid(), signal.SIGINT)
        return step(*args)

    monkeypatch.setattr(_forecast_training, "train_step", interrupting)
    forecaster = FractalForecaster(horizon=6, max_steps=25, period=12, **SMALL)
    with pytest.warns(ConvergenceWarning, match="interrupted in step 1; the best weights"):
        forecaster.fit(waves(200))
    assert forecaster.predict().shape == (2, 6)


def test_missing_values_and_covariates_known_in_advance_are_used():
    time = np.arange(300)
    promotion = (RNG.random(312) < 0.3).astype(float)
    y = np.sin(2 * np.pi * time / 12) + 3 * promotion[:300]
    y[RNG.random(300) < 0.05] = np.nan
    options = {**SMALL, "context": 12}
    forecaster = FractalForecaster(horizon=12, max_steps=0, **options).fit(y, promotion[None, :300])
    with_it = forecaster.predict(X=promotion[None, 300:])
    without = forecaster.predict(X=np.zeros((1, 12)))
    assert with_it.shape == (12,)
    assert np.mean((with_it - without)[promotion[300:] > 0]) > 1.0
    np.testing.assert_allclose(forecaster.predict(y, promotion[None]), with_it)


@pytest.mark.parametrize(
    ("options", "y", "line"),
    [
        ({"horizon": 0}, waves(99), "horizon must be an integer of at least 1, got 0"),
        ({"quantiles": (0.9, 0.1)}, waves(99), "quantiles must be increasing levels between 0"),
        ({"validation_fraction": 1.5}, waves(99), r"validation_fraction must lie in \[0, 1\)"),
        ({}, waves(40), "y: has a series of 40 steps: a horizon of 24 needs at least 50"),
        ({}, np.full((2, 99), np.nan), "y: series 0 has no values"),
        ({}, np.full(99, np.inf), "y must not be infinite; NaN is missing"),
        ({}, np.zeros((2, 2, 2, 9)), "y must have the shape"),
        ({}, ["a"], "y must be an array of real numbers"),
        ({"period": 1}, waves(99), "period must be at least 2 steps, or a list of such, got 1"),
        ({"width": 0}, waves(99), "width must be an integer of at least 1, got 0"),
        ({"depth": -1}, waves(99), "depth must be an integer of at least 1, got -1"),
        ({"order": 3}, waves(99), "order must be even, got 3"),
        ({"random_state": -1}, waves(99), "random_state must be None, an integer from 0"),
    ],
)  # fmt: skip
def test_invalid_series_and_settings_are_named_in_one_line(options, y, line):
    with pytest.raises(ValueError, match=f"^{line}") as caught:
        FractalForecaster(**{"horizon": 24, **options}).fit(y)
    assert "\n" not in str(caught.value)


def test_too_little_memory_for_padded_series_is_one_line(monkeypatch):
    monkeypatch.setattr("fractal._bounds.available_bytes", lambda: 1e8)
    y = [np.zeros(100)] * 99 + [np.zeros(100_000)]
    line = "memory for 100 series, padded to the longest, 100,000 steps: .*; fit series of similar"
    with pytest.raises(ValueError, match=line):
        FractalForecaster(**LINEAR).fit(y)


def test_wrong_uses_of_a_fitted_forecaster_are_named(fitted):
    with pytest.raises(NotFittedError):
        FractalForecaster().predict()
    with pytest.raises(ValueError, match=r"^y must have 2 series of 1 channels as in fit, got 1"):
        fitted.update(np.zeros(3))
    with pytest.raises(ValueError, match=r"^X must have 0 covariates as in fit, got 1"):
        fitted.predict(X=np.zeros((1, 6)))
    with pytest.raises(ValueError, match=r"^start: leaves no origin with 6 later steps"):
        fitted.backtest(waves(50), start=48)
