"""How early, and how surely, is a premature heart beat noticed in a stream?

`python -m experiments.ecg`, a few minutes of CPU time

An electrocardiogram of 20.8 s, `mitdb` in the package sktime, as means of 4 samples (90 per
second). Its beats are regular but for one, which comes early and is labelled. It is read from the
folder `runs/series`: see `experiments.packages`. The first 10 s train. The threshold of the alarm
is the largest score from 10.5 s to the labelled part. Then the stream continues through the
labelled part, to one second after the R peak of the early beat.

A score uses samples up to its own time only. That of a forecast is the mean absolute error over the
last half second of what was forecast half a second ago, in standard deviations of the training
part. One event in one record: differences between methods may be chance.
"""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal
from jaxtyping import Bool, Float, Int

from fractal.estimators import FractalForecaster

from . import packages, runs

MEAN_OF = 4  # samples of the record, of which there are 360 per second
RATE = 90
TRAIN = 10 * RATE
STEPS = RATE // 2  # of a forecast, and of a window
CONTEXT = 108
AFTER = RATE  # samples after the R peak in which the beat can be noticed
LOWER = 0.8  # of the peak score: the threshold for which false alarms are counted
# The network is the only part that depends on a seed.
OURS: dict[str, dict[str, Any]] = {"fractal": {}, "fractal, linear part only": {"max_steps": 0}}
_FILE = "sktime/datasets/data/mitdb/mitdb.csv"

Series = Float[np.ndarray, " time"]


def record() -> tuple[Series, Bool[np.ndarray, " time"]]:
    """The stream, and whether each of its samples is labelled."""
    content = packages.member(runs.ROOT / "runs" / "series", "sktime", _FILE)
    rows = np.loadtxt(io.BytesIO(content), delimiter=",", skiprows=1)
    rows = rows[: len(rows) // MEAN_OF * MEAN_OF].reshape(-1, MEAN_OF, 2)
    return rows[..., 0].mean(axis=1), rows[..., 1].max(axis=1) > 0


def scores(y: Series, method: str, seed: int = 0) -> Series:
    """The score after each sample; NaN up to 10.5 s, where there is no forecast yet."""
    found = _forecast_error(y, method, seed) if method in OURS else OTHERS[method](y)
    found[: TRAIN + STEPS - 1] = np.nan
    return found


def _forecast_error(y: Series, method: str, seed: int) -> Series:
    forecaster = FractalForecaster(STEPS, context=CONTEXT, random_state=seed, **OURS[method])
    kept = forecaster.fit(y[:TRAIN]).backtest(y, start=TRAIN, keep=True)
    found = np.full(len(y), np.nan)
    errors = np.abs(kept["forecasts"] - kept["targets"]).mean(axis=1)
    found[TRAIN + STEPS - 1 :] = errors / y[:TRAIN].std()
    return found


def r_peaks(y: Series) -> Int[np.ndarray, " beats"]:
    """Maxima above the middle between the median and the maximum of the training part.

    Of equal samples the last one is the maximum: it is known when the next sample is lower.
    """
    known = y[:TRAIN]
    height = (np.median(known) + known.max()) / 2
    return scipy.signal.find_peaks(y, height=height, plateau_size=1)[1]["right_edges"]


def mean_interval(y: Series) -> float:
    """Samples from beat to beat in the training part."""
    return float(np.diff(r_peaks(y[:TRAIN])).mean())


def last_season(y: Series) -> Series:
    """The error of the values one mean interval ago as the forecast."""
    season = round(mean_interval(y))
    if season < STEPS:
        raise ValueError(f"the interval must have at least {STEPS} samples, got {season}")
    errors = np.abs(y[season:] - y[:-season])
    found = np.full(len(y), np.nan)
    found[season + STEPS - 1 :] = np.convolve(errors, np.full(STEPS, 1 / STEPS), "valid")
    return found / y[:TRAIN].std()


def nearest_window(y: Series) -> Series:
    """The distance of the last half second to the nearest window of the training part.

    Windows are shifted to mean zero, and distances are root mean squares.
    """
    windows = np.lib.stride_tricks.sliding_window_view(y, STEPS)
    windows = windows - windows.mean(axis=1, keepdims=True)
    known = windows[: TRAIN - STEPS + 1]
    nearest = [((known - one) ** 2).mean(axis=1).min() for one in windows]
    return np.concatenate([np.full(STEPS - 1, np.nan), np.sqrt(nearest)]) / y[:TRAIN].std()


def rr_interval(y: Series) -> Series:
    """The relative deviation of the last interval from the mean one, when it is complete.

    An R peak is known one sample later. Where no interval is complete the score is 0.
    """
    peaks, mean = r_peaks(y), mean_interval(y)
    found = np.zeros(len(y))
    found[peaks[1:] + 1] = np.abs(np.diff(peaks) - mean) / mean
    return found


OTHERS: dict[str, Callable[[Series], Series]] = {
    "nearest window": nearest_window,
    "last season": last_season,
    "RR interval": rr_interval,
}


def noticed(found: Series, labelled: Bool[np.ndarray, " time"], peak: int) -> dict[str, Any]:
    """Threshold, peak score and their ratio, delay in seconds, and false alarms.

    False alarms: how often scores before the labelled part rise above 0.8 times the peak score.
    """
    start = int(labelled.argmax())
    regular, event = found[TRAIN + STEPS - 1 : start], found[start : peak + AFTER + 1]
    threshold, highest = float(regular.max()), float(event.max())
    above = np.flatnonzero(event > threshold)
    lower = np.concatenate([[False], regular > LOWER * highest])
    return {
        "threshold": round(threshold, 4),
        "peak": round(highest, 4),
        "margin": round(highest / threshold, 4),
        "delay": round(float(start + above[0] - peak) / RATE, 4) if len(above) else None,
        "false_alarms": int((lower[1:] & ~lower[:-1]).sum()),
        "regular_seconds": round(len(regular) / RATE, 2),
    }


def measure(method: str, seed: int) -> dict:
    """How early and how surely a method notices the labelled beat."""
    y, labelled = record()
    peak = int(np.where(labelled, y, -np.inf).argmax())
    return noticed(scores(y, method, seed), labelled, peak)


def main() -> None:
    cases = [
        {"method": method, "seed": seed}
        for seed in runs.SEEDS
        for method in (*OTHERS, *OURS)
        if seed == 0 or method == "fractal"
    ]
    runs.run("ecg", cases, measure)


if __name__ == "__main__":
    runs.main(main)
