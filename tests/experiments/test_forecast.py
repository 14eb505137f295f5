"""Forecasts of the experiment, and their tables."""

import numpy as np
import pytest

from experiments import forecast, forecast_tables
from experiments.results import read_experiment
from fractal.report.table import value
from result_lines import all_lines, write


@pytest.fixture
def lines(tmp_path):
    write(tmp_path, {"forecast": all_lines()["forecast"]})
    return read_experiment(tmp_path, "forecast") or []


def test_published_errors_stand_beside_those_of_their_series(lines):
    table = forecast_tables.all_windows(lines)
    names = [row[:2] for row in table.rows]
    assert ("ETTh1", "DLinear, published") in names
    assert not any(row[0] == "power" and "published" in row[1] for row in names)
    assert table.rows[names.index(("ETTh1", "fractal"))][2] == 2
    assert value(table.rows[names.index(("ETTh1", "fractal"))][3]) == pytest.approx(0.446)


def test_methods_that_are_fitted_anew_are_in_the_table_of_few_windows_only(lines):
    assert "AutoETS" not in {row[1] for row in forecast_tables.all_windows(lines).rows}
    assert "AutoETS" in {row[1] for row in forecast_tables.few_windows(lines).rows}


def test_trivial_forecasts_are_right_for_what_repeats():
    hours = np.arange(200)
    daily = np.sin(2 * np.pi * hours / 24)[None]
    origins = np.array([100, 150])
    truth = np.stack([daily[:, one : one + 30] for one in origins], axis=1)
    found = forecast.seasonal_naive(daily, 30, origins)
    np.testing.assert_allclose(found, truth, atol=1e-12)
    constant = forecast.last_value(daily, 30, origins)
    np.testing.assert_array_equal(constant, np.repeat(daily[:, origins - 1, None], 30, axis=2))


def test_windows_lie_in_the_test_part():
    origins = forecast.all_origins(96)
    assert (origins[0], origins[-1] + 96) == (8640 + 2880, 8640 + 2 * 2880)
    for horizon in forecast.HORIZONS:
        assert set(forecast.few_origins()) <= set(forecast.all_origins(horizon))
    assert len(set(forecast.few_origins())) == forecast.FEW
