"""Grids of times of series to forecast: dates, zones, fractions of seconds."""

import datetime

import numpy as np
import pytest

from fractal._errors import UserError
from fractal._series.read import read_records


def table(times):
    return "time,v\n" + "".join(f"{time},{i % 7}\n" for i, time in enumerate(times))


@pytest.mark.parametrize(
    ("times", "following"),
    [
        (
            ["2024-01-01T00:00+02:00", "2024-01-01T01:00+02:00"],
            "2024-01-01 02:00:00+02:00",
        ),
        (["2024-01-01T00:00+02:00", "2024-01-02T00:00+02:00"], "2024-01-03"),
        (["2024-01-01T00:00+01:00", "2024-02-01T00:00+01:00"], "2024-03-01"),
        # Summer time begins: days of local time, and hours of the same length.
        (["2024-03-29T00:00+01:00", "2024-03-30T00:00+01:00", "2024-03-31T00:00+01:00", "2024-04-01T00:00+02:00"], "2024-04-02"),  # noqa: E501
        (["2024-03-31T00:00+01:00", "2024-03-31T01:00+01:00", "2024-03-31T03:00+02:00"], "2024-03-31 04:00:00+02:00"),  # noqa: E501
    ],
)  # fmt: skip
def test_forecast_times_are_local_times_of_the_zone_of_the_file(write, times, following):
    (record,) = read_records(write("z.csv", table(times))).records
    assert record.values.shape == (1, len(times))
    assert record.grid.labels(len(times), 1) == [following]


@pytest.mark.parametrize(
    ("times", "following"),
    [
        (["20240131", "20240229", "20240331"], "2024-04-30"),
        (["20231230", "20231231", "20240101"], "2024-01-02"),
        (["20240101", "20240102", "20240199"], None),  # no date: numbers
    ],
)
def test_a_time_written_as_eight_digits_is_a_date_if_all_are(write, times, following):
    path = write("d.csv", table(times))
    if following is None:
        assert read_records(path).records[0].grid.unit == "number"
        return
    (record,) = read_records(path).records
    assert record.values.shape == (1, 3)
    assert record.grid.labels(3, 1) == [following]


@pytest.mark.parametrize(("rate", "count"), [(30, 2000), (120, 2000), (100, 12_000), (1000, 2000)])
@pytest.mark.parametrize("dated", [True, False])
def test_times_in_milliseconds_are_on_a_grid_at_any_rate(write, rate, count, dated):
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)

    def seconds(index):
        return start.timestamp() + round(1000 * index / rate) / 1000

    def stamp(index):
        time = datetime.datetime.fromtimestamp(seconds(index), datetime.UTC).replace(tzinfo=None)
        return time.isoformat(" ", "milliseconds") if dated else f"{seconds(index):.3f}"

    path = write("fast.csv", table([stamp(index) for index in range(count)]))
    (record,) = read_records(path).records
    assert record.values.shape == (1, count)
    labels = record.grid.labels(count, 7)
    if dated:
        assert all(len(label) == len("2024-01-01 00:00:00.000") for label in labels)
        labels = [datetime.datetime.fromisoformat(f"{one}+00:00").timestamp() for one in labels]
    # The phase of rounded times is known up to a millisecond.
    rounding = 0.001 if 1000 % rate else 0
    expected = [seconds(count + index) for index in range(7)]
    np.testing.assert_allclose(np.array(labels, float), expected, rtol=0, atol=rounding + 1e-6)


def test_irregular_times_are_refused_also_where_they_are_rounded(write):
    times = np.cumsum(np.random.default_rng(0).integers(30, 36, 50)) / 1000
    days = [*range(0, 100, 10), 101]
    for stamps in ([f"{x:.3f}" for x in times], days, days[-5:]):
        with pytest.raises(UserError, match="is not on a regular grid"):
            read_records(write("i.csv", table(stamps)))


def test_a_gap_in_rounded_times_is_filled_in(write):
    times = [f"{round(1000 * i / 30) / 1000:.3f}" for i in range(40) if i not in (10, 11, 25)]
    (record,) = read_records(write("g.csv", table(times))).records
    assert np.flatnonzero(np.isnan(record.values[0])).tolist() == [10, 11, 25]


def test_columns_without_values_and_numbers_of_rows_are_not_forecast(write):
    text = "id,t,v,empty,\n1,1,5,,\n2,2,6,,\n3,3,8,,\n"
    found = read_records(write("e.csv", text))
    assert found.channels == ["v"]
    assert "without values: empty, column 5, not forecast: row id 'id'" in found.summary
    with pytest.raises(UserError, match="column 'empty' has no values"):
        read_records(write("e.csv", text), targets=["v", "empty"])
    several = "id,t,v,w\nA,1,1,1\nA,2,2,2\nB,1,3,\nB,2,4,\n"
    with pytest.raises(UserError, match="column 'w' has no values in series 'B'"):
        read_records(write("s.csv", several))
    assert read_records(write("o.csv", "t,id\n1,4\n2,5\n3,9\n")).channels == ["id"]
