"""The forms in which users have time series."""

import numpy as np
import pandas as pd
import pytest

from fractal.estimators._cases import read_cases
from fractal.estimators._padding import batches, padded_lengths
from fractal.estimators._preparation import learn_preparation


def same(one, two):
    assert len(one) == len(two)
    for left, right in zip(one.values, two.values, strict=True):
        np.testing.assert_array_equal(left, right)


def test_arrays_lists_and_tables_of_the_same_series_are_equal(rng):
    array = rng.normal(size=(5, 2, 7))
    table = pd.DataFrame(
        [
            {"id": f"case {i}", "time": 0.5 * t, "a": array[i, 0, t], "b": array[i, 1, t]}
            for t in range(7)
            for i in range(5)
        ]
    )
    expected = read_cases(array)
    assert expected.channels == 2
    assert expected.lengths.tolist() == [7] * 5
    same(read_cases(list(array)), expected)
    same(read_cases(array.tolist()), expected)
    same(read_cases(array[:, :1]), read_cases(array[:, 0]))
    same(read_cases(array[:, :1]), read_cases(pd.DataFrame(array[:, 0])))
    read = read_cases(table)
    same(read, expected)
    assert read.ids.tolist() == [f"case {i}" for i in range(5)]
    np.testing.assert_array_equal(read.times[3], 0.5 * np.arange(7))


def test_rows_of_a_table_may_be_in_any_order(rng):
    table = pd.DataFrame({"id": [2, 2, 1, 1, 1], "time": [3, 1, 7, 5, 6], "x": [30, 10, 7, 5, 6]})
    read = read_cases(table)
    assert read.ids.tolist() == [2, 1]
    assert [case[:, 0].tolist() for case in read.values] == [[10, 30], [5, 6, 7]]


def test_dates_become_seconds_since_the_start_of_a_case():
    dates = pd.to_datetime(
        ["2026-01-01 00:00", "2026-01-02 00:00", "2026-01-01 00:01", "2026-01-01 00:03"]
    )
    table = pd.DataFrame({"id": [0, 0, 1, 1], "time": dates, "x": [0.0, 1, 2, 3]})
    assert [one.tolist() for one in read_cases(table).times] == [[0, 86400], [0, 120]]
    stamps = [dates[:2].to_numpy(), dates[2:].to_numpy()]
    assert read_cases(np.ones((2, 2)), stamps).times[1].tolist() == [0, 120]


def test_an_hour_that_local_time_repeats_is_read_as_two():
    dates = pd.date_range("2026-10-25 00:00", periods=5, freq="h", tz="Europe/Berlin")
    assert dates[2].hour == dates[3].hour == 2
    table = pd.DataFrame({"id": 0, "time": dates, "x": np.arange(5.0)})
    assert read_cases(table).times[0].tolist() == [0, 3600, 7200, 10800, 14400]


def test_missing_steps_at_the_end_are_padding():
    padded = np.array([[[1, 2, np.nan, np.nan]], [[np.nan, 2, np.nan, 4]]])
    assert read_cases(padded).lengths.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("X", "times", "message"),
    [
        ([[[1, 2, 3], [1, 2]]], None, "equal length"),
        ([np.ones((2, 5)), np.ones((3, 5))], None, "same number of channels"),
        ([np.ones(5), np.full(4, np.nan)], None, "case 1 is all NaN"),
        (np.array([[1.0, np.inf]]), None, "infinity"),
        ([np.array([1.0, np.inf]), np.ones(3)], None, "infinite"),
        (np.ones((2, 2, 2, 2)), None, "cases, channels, time"),
        ([], None, "0 sample|at least one case|Expected 2D"),
        ([np.array(["a", "b"]), np.ones(3)], None, "real numbers"),
        (np.ones((2, 3)), [-1, 0, 1], "negative"),
        (np.ones((2, 3)), [0, 1, 1], "strictly increasing"),
        (np.ones((2, 3)), [0, 1, np.nan], "finite"),
        (np.ones((2, 3)), [0, 1], "one entry per step"),
        (np.ones((2, 3)), [[0, 1, 2]], "one array per case"),
        (np.ones((2, 3)), 0.01, "times of the samples, .* got 0.01"),
        (np.ones((2, 3)), ["a", "b", "c"], "numbers or datetime64"),
        (pd.DataFrame({"id": [0, 0], "time": [1, 1], "x": [1, 2]}), None, "distinct times"),
        (pd.DataFrame({"id": [0, 0], "time": [1, 2]}), None, "columns besides"),
        (pd.DataFrame({"id": [0, None], "time": [1, 2], "x": [1, 2]}), None, "missing value"),
        (pd.DataFrame({"id": [0], "time": [1], "x": ["a"]}), None, "numbers in column 'x'"),
        (pd.DataFrame({"id": [0], "time": [1], "x": [1]}), [0], "long table"),
    ],
)
def test_other_input_is_one_line_that_names_the_argument(X, times, message):
    with pytest.raises(ValueError, match=message) as raised:
        read_cases(X, times)
    first = str(raised.value).splitlines()[0]
    assert "X" in first or "times" in first or "Expected 2D" in first


def test_inputs_have_mean_0_and_variance_1_and_gaps_are_filled_by_the_last_value(rng):
    X = 1e9 + 5 * rng.normal(size=(20, 2, 30))
    X[3, 0, 4:7] = np.nan
    X[5, 0, :2] = np.nan
    cases = read_cases(X)
    prepared = learn_preparation(cases)
    assert prepared.inputs == 3  # the first channel has an indicator
    inputs = prepared.apply(cases)
    steps = np.concatenate([one.values for one in inputs])
    observed = steps[steps[:, 2] == 0]
    np.testing.assert_allclose(observed[:, :2].mean(axis=0), 0, atol=2e-2)
    np.testing.assert_allclose(observed[:, :2].std(axis=0), 1, atol=2e-2)
    assert inputs[3].values[:, 2].tolist() == [0] * 4 + [1] * 3 + [0] * 23
    assert (inputs[3].values[4:7, 0] == inputs[3].values[3, 0]).all()
    assert (inputs[5].values[:2, 0] == 0).all()


def test_durations_are_in_units_of_the_median_interval_of_the_training_set():
    train = read_cases(np.arange(6.0).reshape(2, 3), [[0, 2, 4], [5, 7, 10]])
    prepared = learn_preparation(train)
    assert prepared.unit == 2
    dense = read_cases(np.ones((1, 4)), [10, 11, 12, 16])
    assert prepared.apply(dense)[0].dt.tolist() == [1, 0.5, 0.5, 2]
    with pytest.warns(UserWarning, match="taken to last 2, the median interval"):
        assert prepared.apply(read_cases(np.ones((1, 4))))[0].dt is None


def test_the_inputs_of_a_stream_are_those_of_the_whole_case(rng):
    values = np.where(rng.uniform(size=(40, 2)) < 0.3, np.nan, rng.normal(size=(40, 2)))
    times = np.cumsum(rng.uniform(0.1, 2, 40))
    prepared = learn_preparation(read_cases([values.T], [times]))
    whole = prepared.extend(values, times, prepared.start())[0]
    parts, last = [], prepared.start()
    for start, end in ((0, 1), (1, 17), (17, 40)):
        part, last = prepared.extend(values[start:end], times[start:end], last)
        parts.append(part)
    np.testing.assert_array_equal(np.concatenate([one.values for one in parts]), whole.values)
    np.testing.assert_allclose(np.concatenate([one.dt for one in parts]), whole.dt, rtol=1e-6)


def test_batches_contain_every_case_once_and_have_few_shapes(rng):
    lengths = rng.integers(1, 1000, 300)
    cases = read_cases([np.full(length, i + 1.0) for i, length in enumerate(lengths)])
    inputs = learn_preparation(cases).apply(cases)
    made = batches(inputs, 16, rng.permutation(300))
    assert sorted(np.concatenate([batch.rows for batch in made])) == list(range(300))
    assert len({batch.values.shape for batch in made}) <= 4
    for batch in made:
        for place, row in enumerate(batch.rows):
            assert batch.lengths[place] == lengths[row]
            np.testing.assert_array_equal(batch.values[place, : lengths[row]], inputs[row].values)
            assert (batch.values[place, lengths[row] :] == 0).all()


def test_padding_adds_at_most_an_eighth_to_cases_of_equal_length():
    for length in (*range(17, 300), 1000, 12345):
        (padded,) = padded_lengths(np.array([length]))
        assert length <= padded <= 1.125 * length + 1
