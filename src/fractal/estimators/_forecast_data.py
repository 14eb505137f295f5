"""What the two parts of a forecast are fitted to: windows before origins, and segments."""

from collections.abc import Iterator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ._forecast_network import VALUE_INPUTS, SegmentBatch
from ._histories import Histories, extended, local_scale
from ._lag_regression import LagRegression, Origins, chosen_origins

SEGMENT = 512  # steps of a training example
BATCH, ORIGINS = 16, 16  # training examples per step, and origins in each


class PreparedHistories(NamedTuple):
    """Histories with everything that is computed once.

    - `padded`: values with `lags` repetitions of the first in front.
    - `scale`: deviation of the last `lags` values at each step; 1 where they are constant.
    - `inputs`: of the network.
    - `deviation`: of the observed values of each row's training part, the unit in which errors are
      compared.
    """

    histories: Histories
    padded: Float[np.ndarray, "rows longer"]
    scale: Float[np.ndarray, "rows time"]
    inputs: Float[np.ndarray, "rows time inputs"]
    deviation: Float[np.ndarray, " rows"]


def network_inputs(
    padded: Float[np.ndarray, "rows longer"],
    observed: Bool[np.ndarray, "rows time"],
    covariates: Float[np.ndarray, "rows longer_or_none covariates"],
    lags: int,
) -> tuple[Float[np.ndarray, "rows time inputs"], Float[np.ndarray, "rows time"]]:
    """Inputs of the network at each step, and the deviation of the last `lags` values.

    `padded` begins with `lags` values before the first step.
    """
    mean, spread = local_scale(padded, lags)
    spread = np.where(spread > 0, spread, 1.0)
    values = padded[:, lags:]
    parts = np.empty((*values.shape, VALUE_INPUTS + covariates.shape[2]), np.float32)
    parts[..., 0] = (values - mean) / spread
    parts[..., 1] = (values - padded[:, lags - 1 : -1]) / spread
    parts[..., 2] = observed
    if covariates.shape[2]:
        parts[..., VALUE_INPUTS:] = covariates[:, : values.shape[1]]
    return parts, spread


def prepare(histories: Histories, lags: int, training: np.ndarray) -> PreparedHistories:
    """`training` is the number of steps of each row that belong to the training part."""
    padded = extended(histories.values, lags)
    inputs, scale = network_inputs(padded, histories.observed, histories.covariates, lags)
    inside = histories.observed & (np.arange(histories.values.shape[1]) < training[:, None])
    deviation = np.array(
        [
            row[there].std() if there.any() else 0.0
            for row, there in zip(histories.values, inside, strict=True)
        ]
    )
    return PreparedHistories(
        histories, padded, scale, inputs, np.where(deviation > 0, deviation, 1.0)
    )


def gathered(prepared: PreparedHistories, row: int, origins: np.ndarray, horizon: int) -> Origins:
    """Windows before origins of a row; an origin is the number of steps known."""
    lags = prepared.padded.shape[1] - prepared.histories.values.shape[1]
    scale = prepared.scale[row, origins - 1]
    past = prepared.padded[row, origins[:, None] + np.arange(lags)] / scale[:, None]
    ahead = origins[:, None] + np.arange(horizon)
    x = prepared.histories.covariates[row]
    changes = x[ahead] - x[origins - 1][:, None] if x.shape[1] else np.zeros((*ahead.shape, 0))
    after = prepared.histories.values[row, ahead] / scale[:, None]
    known = prepared.histories.observed[row, ahead]
    return Origins(past, changes, after, scale / prepared.deviation[row], known)


def all_origins(
    prepared: PreparedHistories, starts: np.ndarray, ends: np.ndarray, horizon: int
) -> list[Origins]:
    """The origins of each row in [start, end − horizon]; of many, evenly spaced ones."""
    found = []
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        origins = chosen_origins(np.arange(start, end - horizon + 1), len(starts))
        if len(origins):
            found.append(gathered(prepared, row, origins, horizon))
    return found


class Segments(NamedTuple):
    """Segments of rows, from which batches are made.

    - `ends`: per segment, its row and the step at which it ends; the last origin.
    - `length`: steps of a segment; origins lie in its second half.
    """

    prepared: PreparedHistories
    linear: LagRegression
    ends: np.ndarray  # (segments, 2)
    length: int
    horizon: int

    def batch(self, chosen: np.ndarray, rng: np.random.Generator | None) -> SegmentBatch:
        """Origins are random, or with `rng` None evenly spaced up to the end."""
        ends = self.ends[chosen]
        half = max(1, self.length // 2)
        if rng is None:
            back = np.linspace(0, half - 1, ORIGINS).astype(int)[None].repeat(len(ends), axis=0)
        else:
            back = rng.integers(0, half, (len(ends), ORIGINS))
        back[:, 0] = 0
        inputs = np.zeros((len(ends), self.length, self.prepared.inputs.shape[2]), np.float32)
        errors = np.zeros((len(ends), ORIGINS, self.horizon), np.float32)
        known, weights = np.zeros_like(errors), np.zeros(errors.shape[:2], np.float32)
        for index, (row, end) in enumerate(ends.tolist()):
            inputs[index] = self.prepared.inputs[row, end - self.length : end]
            origins = end - back[index]
            found = gathered(self.prepared, row, origins, self.horizon)
            forecast = self.linear.forecast(found.past, found.changes)
            errors[index] = found.future - forecast
            known[index] = found.known
            weights[index] = found.weight
        places = self.length - 1 - back
        arrays = (inputs, places, errors, known, weights)
        return SegmentBatch(*(jnp.asarray(array) for array in arrays))


def segments(
    prepared: PreparedHistories,
    linear: LagRegression,
    starts: np.ndarray,
    stops: np.ndarray,
    length: int,
    horizon: int,
) -> Segments:
    """Segments whose last origins lie in [start, stop − horizon] of each row."""
    ends = []
    for row, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        own = np.arange(max(start, length), stop - horizon + 1)
        ends.append(np.stack([np.full_like(own, row), own], axis=1))
    return Segments(prepared, linear, np.concatenate(ends), length, horizon)


def spaced_batches(parts: Segments, count: int) -> Iterator[SegmentBatch]:
    """`count` batches of evenly spaced segments: the same in every evaluation."""
    picked = np.linspace(0, len(parts.ends) - 1, count * BATCH).astype(int)
    for start in range(0, len(picked), BATCH):
        yield parts.batch(picked[start : start + BATCH], None)
