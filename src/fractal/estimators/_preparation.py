"""From cases to the inputs of a model: scaling, missing values, durations.

What `fit` learns is applied to all later cases:

- A channel whose values span orders of magnitude is compressed: x becomes asinh((x − c)/d) with the
  median c and the lowest decile d of |x − c|, so that small values are not lost beside large ones.
- Each channel is shifted and scaled to mean 0 and variance 1 over the training set.
- A missing value is replaced by the last observed one, before the first by the mean. A channel with
  missing values in the training set has a second input: 1 where the value is missing.
- A sample lasts from the time of the previous one. Durations are in units of the median interval of
  the training set, so that cases with times may have any sampling rate; the first sample of a case
  lasts one unit. Without times every sample lasts one unit.
"""

import dataclasses
import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32

from ._cases import CaseSet
from ._filling import forward_filled

_SMALLEST_SCALE = 1e-12  # relative to the largest value of a channel: a constant channel
_HEAVY_TAILS = 30.0  # standard deviation relative to the median deviation; 1.5 for a Gaussian


class CaseInputs(NamedTuple):
    """The inputs of a model for one case, and the durations of its samples; None without times."""

    values: Float32[np.ndarray, "time inputs"]
    dt: Float32[np.ndarray, " time"] | None


class Filling(NamedTuple):
    """The last observed (compressed) value of each channel and the last time, for streams."""

    values: Float[np.ndarray, " channels"]
    time: float | None


@dataclasses.dataclass(frozen=True)
class Preparation:
    """What is learned from the training set.

    - `mean`, `scale`: of each channel, after compression.
    - `indicators`: which channels had missing values.
    - `unit`: median interval between samples; 1 without times.
    - `center`, `knee`: c and d of compressed channels; d = 0 for others.
    - `timed`: whether the training set had times.
    """

    mean: Float[np.ndarray, " channels"]
    scale: Float[np.ndarray, " channels"]
    indicators: Bool[np.ndarray, " channels"]
    unit: float
    center: Float[np.ndarray, " channels"]
    knee: Float[np.ndarray, " channels"]
    timed: bool = False

    @property
    def inputs(self) -> int:
        """Number of inputs of the model."""
        return len(self.mean) + int(self.indicators.sum())

    def apply(self, cases: CaseSet) -> list[CaseInputs]:
        """Inputs for whole cases."""
        self.warn_without_times(cases.times)
        stamps = [None] * len(cases) if cases.times is None else cases.times
        start = self.start()
        return [
            self.extend(values, times, start)[0]
            for values, times in zip(cases.values, stamps, strict=True)
        ]

    def warn_without_times(self, times: object) -> None:
        """Warn if times are None here, but were given in the training set."""
        if self.timed and times is None:
            warnings.warn(
                "times were given in fit, but not here: every sample is taken to last "
                f"{self.unit:g}, the median interval of the training set",
                stacklevel=5,
            )

    def start(self) -> Filling:
        """Before the first sample: the mean in place of an observed value."""
        return Filling(self.mean, None)

    def extend(
        self,
        values: Float[np.ndarray, "time channels"],
        times: Float[np.ndarray, " time"] | None,
        last: Filling,
    ) -> tuple[CaseInputs, Filling]:
        """Inputs for the next samples of a case, and what is kept for those that follow."""
        missing = np.isnan(values)
        filled = forward_filled(_compressed(values, self.center, self.knee), last.values)
        scaled = (filled - self.mean) / self.scale
        inputs = np.concatenate([scaled, missing[:, self.indicators]], axis=1)
        inputs = np.clip(inputs, -1e6, 1e6).astype(np.float32)  # finite in float32
        dt = None if times is None else self._durations(times, last.time)
        time = last.time if times is None or not len(times) else float(times[-1])
        return CaseInputs(inputs, dt), Filling(filled[-1] if len(filled) else last.values, time)

    def _durations(self, times: np.ndarray, before: float | None) -> Float32[np.ndarray, " time"]:
        if not len(times):
            return np.zeros(0, np.float32)
        first = times[0] - self.unit if before is None else before
        return (np.diff(times, prepend=first) / self.unit).astype(np.float32)


def learn_preparation(cases: CaseSet) -> Preparation:
    """The preparation of a training set. A channel without any value has mean 0 and scale 1."""
    steps = np.concatenate(cases.values)
    observed = ~np.isnan(steps)
    center, knee = _heavy_tails(steps)
    steps = _compressed(steps, center, knee)
    count = np.maximum(observed.sum(axis=0), 1)
    largest = np.abs(steps).max(axis=0, initial=0.0, where=observed)
    size = np.where(largest > 0, largest, 1.0)  # squares must not overflow
    mean = np.where(observed, steps / size, 0).sum(axis=0) / count
    variance = np.where(observed, steps / size - mean, 0)
    deviation = np.sqrt((variance**2).sum(axis=0) / count)
    scale = np.where(deviation > _SMALLEST_SCALE, deviation * size, 1.0)
    unit = 1.0
    if cases.times is not None:
        gaps = np.concatenate([np.diff(times) for times in cases.times])
        unit = float(np.median(gaps)) if len(gaps) else 1.0
    missing = np.asarray((~observed).any(axis=0))
    timed = cases.times is not None
    return Preparation(mean * size, scale, missing, unit, center, knee, timed)


def _heavy_tails(
    steps: Float[np.ndarray, "steps channels"],
) -> tuple[Float[np.ndarray, " channels"], Float[np.ndarray, " channels"]]:
    """Median and lowest decile of deviations of channels with heavy tails; 0 for others."""
    center, knee = np.zeros(steps.shape[1]), np.zeros(steps.shape[1])
    for channel, column in enumerate(steps.T):
        values = column[~np.isnan(column)]
        if not len(values):
            continue
        largest = np.abs(values).max() or 1.0  # squares must not overflow
        median = np.median(values)
        low, middle = np.quantile(np.abs(values - median), (0.1, 0.5))
        heavy = np.std(values / largest) * largest > _HEAVY_TAILS * middle
        if heavy and low > largest * _SMALLEST_SCALE:
            center[channel], knee[channel] = median, low
    return center, knee


def _compressed(
    values: Float[np.ndarray, "time channels"],
    center: Float[np.ndarray, " channels"],
    knee: Float[np.ndarray, " channels"],
) -> Float[np.ndarray, "time channels"]:
    if not knee.any():
        return values
    unit = np.where(knee > 0, knee, 1.0)
    return np.where(knee > 0, np.arcsinh((values - center) / unit), values)
