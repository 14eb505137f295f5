"""A streaming memory of a real signal: four years of a share price in sixteen numbers.

    python streaming.py [PICTURE.png]

The prices are sample data of matplotlib: 1,047 trading days, irregularly spaced because of weekends
and holidays.
"""

import pathlib
import sys
import tempfile

import numpy as np
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure

import fractal

ORDER = 16
ALPHAS = {"LegS (alpha = 0)": 0.0, "alpha = 0.9": 0.9}
AGES = {"week": (0, 7), "month": (7, 30), "half-year": (30, 182), "before": (182, np.inf)}
FIRST_YEAR = 250  # trading days before the errors are counted


def load_prices():
    """Closing prices, and the days since the start of the stream on which they end."""
    table = get_sample_data("goog.npz")["price_data"]
    days = (table["date"] - table["date"][0]).astype(float) + 1
    return table["close"], days


def follow(alpha, prices, days):
    """Push day by day; returns the memory at the end and the mean recall error by age."""
    middles = (
        days + np.concatenate([[0], days[:-1]])
    ) / 2  # a price is held since the previous one
    memory = fractal.OnlineMemory(alpha=alpha, order=ORDER)
    errors = {name: [] for name in AGES}
    for today, (price, day) in enumerate(zip(prices, days, strict=True)):
        memory.push([price], times=day)
        if today < FIRST_YEAR:
            continue
        ages = day - middles[: today + 1]
        recalled = memory.recall(ages / day)[:, 0]  # relative ages: 0 is now, 1 the first day
        squares = (recalled - prices[: today + 1]) ** 2
        for name, (youngest, oldest) in AGES.items():
            chosen = (ages >= youngest) & (ages < oldest)
            errors[name].append(np.sqrt(squares[chosen].mean()))
    return memory, {name: float(np.mean(error)) for name, error in errors.items()}


def interrupted(alpha, prices, days):
    """The same memory, saved to a file halfway, then loaded and resumed."""
    half = len(prices) // 2
    memory = fractal.OnlineMemory(alpha=alpha, order=ORDER)
    memory.push(prices[:half, None], times=days[:half])  # a block, instead of day by day
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "memory.safetensors"
        memory.save(path)
        memory = fractal.OnlineMemory.load(path)
    return memory.push(prices[half:, None], times=days[half:])


def draw(path, prices, days, memories, errors):
    """Plot the recall on the last day, and the errors over all days."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    signal, bars = figure.subplots(1, 2, width_ratios=(3, 2))
    signal.plot(days, prices, color="0.7", label="price")
    for place, (name, memory) in enumerate(memories.items()):
        signal.plot(days, memory.recall(1 - days / days[-1]), label=name)
        positions = np.arange(len(AGES)) + 0.4 * place - 0.2
        bars.bar(positions, list(errors[name].values()), width=0.4, color=f"C{place}")
    signal.set(xlabel="day", ylabel="US dollars", title=f"recalled from {ORDER} numbers")
    bars.set(xlabel="age", ylabel="error, US dollars", title="mean over the days of three years")
    bars.set_xticks(range(len(AGES)), list(AGES))
    signal.legend()
    figure.savefig(path, dpi=100)


def main(picture=None):
    """Compare both memories; returns the errors by age."""
    prices, days = load_prices()
    memories, errors = {}, {}
    for name, alpha in ALPHAS.items():
        memories[name], errors[name] = follow(alpha, prices, days)
        again = interrupted(alpha, prices, days)
        assert np.allclose(again.coefficients, memories[name].coefficients, rtol=0, atol=1e-6)

    print(f"{len(prices)} days in {ORDER} numbers; error in US dollars, by age")
    print(f"{'':18}" + "".join(f"{name:>11}" for name in AGES))
    for name, by_age in errors.items():
        print(f"{name:18}" + "".join(f"{error:11.2f}" for error in by_age.values()))
    if picture is not None:
        draw(picture, prices, days, memories, errors)
    return errors


if __name__ == "__main__":
    main(*sys.argv[1:2])
