"""Forecast two days of an hourly load, with its uncertainty, as new values arrive.

    python forecast.py [PICTURE]

The load has a daily and a weekly course and depends on the temperature, whose forecast is known in
advance; some hours are missing. Replace `load` by a function that reads your own.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from fractal.estimators import FractalForecaster

DAY, HORIZON = 24, 48
TEST = 14 * DAY  # the last two weeks


def load(rng, hours=16 * 7 * DAY):
    """The load (time,) and the temperature (1, time)."""
    t = np.arange(hours)
    weather = np.zeros(hours)
    for hour in range(1, hours):
        weather[hour] = 0.97 * weather[hour - 1] + rng.normal(0, 0.5)
    temperature = 10 + 5 * np.sin(2 * np.pi * (t - 8) / DAY) + weather
    workday = t // DAY % 7 < 5
    course = (1.0 + 1.5 * workday) * np.exp(2 * np.sin(2 * np.pi * (t - 7) / DAY) - 2)
    y = 2 + course + 0.15 * np.maximum(15 - temperature, 0) + 0.15 * rng.normal(size=hours)
    y[rng.uniform(size=hours) < 0.02] = np.nan  # missing
    return y, temperature[None]


def main(picture="forecast.png"):
    """Fit, test on rolling origins, and continue the series day by day."""
    y, X = load(np.random.default_rng(0))
    start = len(y) - TEST
    model = FractalForecaster(
        HORIZON, period=(DAY, 7 * DAY), width=16, depth=1, max_steps=50, random_state=0
    ).fit(y[:start], X[:, :start])
    found = model.backtest(y, X, start=start, stride=6)
    inside = found["coverage"][0.9] - found["coverage"][0.1]
    trivial = weekly_error(y, start)
    print(f"mean squared error  {found['mse']:.3f}, of the week before {trivial:.3f}")
    print(f"between the quantiles 0.1 and 0.9: {inside:.2f} of the values")
    forecasts = []
    for now in range(start, len(y) - HORIZON, HORIZON):
        ahead = slice(now, now + HORIZON)
        forecasts.append(
            (now, model.predict(X=X[:, ahead]), model.predict_quantiles(X=X[:, ahead]))
        )
        model.update(y[ahead], X[:, ahead])  # what was forecast has arrived
    draw(picture, y, start, forecasts)
    return found, trivial


def weekly_error(y, start):
    """The mean squared error of the values one week before."""
    return float(np.nanmean((y[start:] - y[start - 7 * DAY : -7 * DAY]) ** 2))


def draw(picture, y, start, forecasts):
    """The last weeks, and each forecast with the range of its quantiles."""
    figure, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
    first = start - 3 * DAY
    days = np.arange(len(y)) / DAY
    axes.plot(days[first:], y[first:], color="0.2", linewidth=1, label="load")
    for now, points, quantiles in forecasts:
        ahead = days[now : now + HORIZON]
        labels = ("forecast", "quantiles 0.1 to 0.9") if now == start else (None, None)
        axes.plot(ahead, points, color="tab:blue", linewidth=1.5, label=labels[0])
        axes.fill_between(
            ahead, quantiles[:, 0], quantiles[:, -1], color="tab:blue", alpha=0.25, linewidth=0,
            label=labels[1],
        )  # fmt: skip
        axes.axvline(days[now], color="0.8", linewidth=1)
    axes.set(xlabel="days", ylabel="load in kW", xlim=(days[first], days[-1]))
    axes.legend(frameon=False, ncols=3, loc="upper left")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.12)
    figure.savefig(picture, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
