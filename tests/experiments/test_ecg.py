"""A beat that comes early: scores of a synthetic stream, and the table."""

import math

import numpy as np
import pytest

from experiments import ecg, stream_tables
from experiments.results import read_experiment
from fractal.estimators import FractalForecaster
from fractal.report.table import value
from result_lines import all_lines, write

INTERVAL, EARLY = 72, 22  # mean of samples between beats, and by how many one comes early
_REGULAR = [INTERVAL - 1, INTERVAL + 1] * 10
BEATS = np.cumsum([30, *_REGULAR, INTERVAL - EARLY, INTERVAL + EARLY, INTERVAL])
PEAK = int(BEATS[21])
METHODS = (*ecg.OTHERS, *ecg.OURS)


@pytest.fixture(autouse=True)
def short_training(monkeypatch):
    monkeypatch.setitem(ecg.OURS, "fractal", {"max_steps": 2, "width": 4})


@pytest.fixture(scope="module")
def stream():
    time = np.arange(BEATS[-1] + 10)[:, None] - BEATS
    beats = np.exp(-((time / 2) ** 2)) + 0.2 * np.exp(-(((time - 20) / 6) ** 2))
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(time))
    y = beats.sum(axis=1) + noise
    labelled = np.abs(np.arange(len(y)) - PEAK) <= 8
    return y, labelled


@pytest.mark.parametrize("method", METHODS)
def test_an_early_beat_is_noticed_after_it_began_and_before_the_regular_one_was_due(stream, method):
    y, labelled = stream
    found = ecg.noticed(ecg.scores(y, method), labelled, PEAK)
    assert found["margin"] > 1.2
    assert -5 / ecg.RATE < found["delay"] < EARLY / ecg.RATE


@pytest.mark.parametrize("method", METHODS)
def test_a_score_depends_on_no_later_sample(stream, method):
    y, _ = stream
    before = ecg.scores(y, method)
    rng = np.random.default_rng(1)
    for end in (ecg.TRAIN + ecg.STEPS + 3, PEAK + 1, PEAK + 2):
        changed = np.concatenate([y[:end], y[end:] + rng.standard_normal(len(y) - end)])
        after = ecg.scores(changed, method)
        np.testing.assert_allclose(after[:end], before[:end], atol=1e-5)
        cut = ecg.scores(y[:end], method)
        np.testing.assert_allclose(cut, before[:end], atol=1e-5)
        assert not np.allclose(after[end:], before[end:])


def test_no_method_has_a_score_before_the_first_forecast_is_half_a_second_old(stream):
    for method in METHODS:
        assert np.flatnonzero(~np.isnan(ecg.scores(stream[0], method)))[0] == 944, method


@pytest.mark.parametrize("max_steps", [0, 3])
def test_samples_that_arrive_one_by_one_have_the_forecasts_of_backtest(max_steps):
    y = np.sin(np.arange(90) / 3) + 0.1 * np.random.default_rng(2).standard_normal(90)
    model = FractalForecaster(5, context=12, max_steps=max_steps, width=4, random_state=0)
    kept = model.fit(y[:60]).backtest(y, start=60, keep=True)["forecasts"]
    assert len(kept) == 90 - 60 - 5 + 1
    for place, sample in enumerate(y[60 : 60 + len(kept)]):
        np.testing.assert_allclose(model.predict(), kept[place], rtol=1e-4, atol=1e-5)
        model.update([sample])


def test_the_score_is_the_error_of_the_forecast_half_a_second_before(stream):
    y, _ = stream
    found = ecg.scores(y, "fractal, linear part only")
    model = FractalForecaster(45, context=108, max_steps=0).fit(y[:900])
    for last in (944, 1500, PEAK + 4):
        forecast = model.predict(y[: last - 44])
        error = sum(abs(forecast[step] - y[last - 44 + step]) for step in range(45)) / 45
        assert found[last] == pytest.approx(error / np.std(y[:900]), rel=1e-4)


def test_other_scores_are_those_of_loops(stream):
    y, _ = stream
    unit = np.std(y[:900])
    season, window = ecg.last_season(y), ecg.nearest_window(y)
    for last in (944, 1500, PEAK + 4):
        errors = [abs(y[place] - y[place - INTERVAL]) for place in range(last - 44, last + 1)]
        assert season[last] == pytest.approx(sum(errors) / 45 / unit)
        recent = y[last - 44 : last + 1] - np.mean(y[last - 44 : last + 1])
        distances = [
            math.dist(recent, y[start : start + 45] - np.mean(y[start : start + 45]))
            for start in range(900 - 45 + 1)
        ]
        assert window[last] == pytest.approx(min(distances) / math.sqrt(45) / unit)


def test_an_interval_is_scored_one_sample_after_the_peak_that_ends_it(stream):
    y, _ = stream
    found = ecg.scores(y, "RR interval")
    np.testing.assert_array_equal(ecg.r_peaks(y), BEATS)
    assert ecg.mean_interval(y) == INTERVAL
    assert found[PEAK + 1] == pytest.approx(EARLY / INTERVAL)
    assert found[BEATS[22] + 1] == pytest.approx(EARLY / INTERVAL)
    assert found[BEATS[20] + 1] == pytest.approx(1 / INTERVAL)
    assert set(np.flatnonzero(found > 0)) == {one + 1 for one in BEATS[:-1] if one > 944}


def test_of_equal_samples_at_an_r_peak_the_last_one_counts():
    y = np.zeros(2 * ecg.TRAIN)
    y[100:103] = y[200:202] = 1.0
    np.testing.assert_array_equal(ecg.r_peaks(y), [102, 201])


def test_delay_margin_and_false_alarms_of_known_scores():
    found, labelled, peak = np.full(1500, 1.0), np.zeros(1500, bool), 1320
    labelled[1300:1400] = True
    found[:944] = 100.0  # not counted: the training part, and before the first forecast
    found[[1000, 1001, 1100]] = 4.0, 3.0, 2.0
    found[1299] = 3.5
    found[[1310, 1311, 1330]] = 4.0, 4.4, 5.0
    found[peak + ecg.AFTER + 1 :] = 100.0  # too late
    assert ecg.noticed(found, labelled, peak) == {
        "threshold": 4.0,
        "peak": 5.0,
        "margin": 1.25,
        "delay": -0.1,  # the first score above, not equal to, the threshold: 9 samples before
        "false_alarms": 0,  # above 0.8 · 5
        "regular_seconds": 3.96,  # (1300 − 944) / 90
    }
    found[1330], found[1311] = 3.7, 3.6
    found[1310] = 3.6
    later = ecg.noticed(found, labelled, peak)
    assert (later["margin"], later["delay"]) == (0.925, None)
    assert later["false_alarms"] == 2  # 1000 and 1001 are one alarm; 1299 is another


def test_a_beat_that_is_not_noticed_with_every_seed_has_no_delay(tmp_path):
    lines = all_lines()["ecg"]
    write(tmp_path, {"ecg": lines})
    rows = {row[0]: row for row in stream_tables.beats(read_experiment(tmp_path, "ecg") or []).rows}
    assert list(rows) == ["fractal", "last season"]
    assert (rows["fractal"][4], value(rows["fractal"][5])) == ("2 of 2", 0.1)
    assert rows["last season"][4:6] == ("0 of 2", None)
    lines[-1]["delay"] = None
    write(tmp_path, {"ecg": lines})
    row = stream_tables.beats(read_experiment(tmp_path, "ecg") or []).rows[0]
    assert row[4:6] == ("1 of 2", None)
