"""Forecasts from rolling origins: each uses the history before it only."""

from typing import Any

import numpy as np
from jaxtyping import Int

from ._forecast_data import gathered
from ._forecast_errors import ForecastErrors
from ._forecast_model import ForecastModel
from ._histories import Histories

_BLOCK = 512  # origins per block


def rolling_errors(
    model: ForecastModel,
    histories: Histories,
    first: Int[np.ndarray, " rows"],
    stride: int,
    keep: bool,
) -> dict[str, Any]:
    """The errors from the origins `first`, `first` + `stride`, … of each row.

    With `keep` also `forecasts` and `targets`, (origins, horizon); missing targets are NaN.
    """
    prepared, horizon = model.prepared(histories), model.horizon
    features = model.features(prepared)
    sums, kept = ForecastErrors(len(histories.lengths), horizon, model.levels), []
    for row, end in enumerate(histories.lengths.tolist()):
        origins = np.arange(int(first[row]), end - horizon + 1, stride)
        for start in range(0, len(origins), _BLOCK):
            part = origins[start : start + _BLOCK]
            windows, scale = gathered(prepared, row, part, horizon), prepared.scale[row, part - 1]
            points, quantiles = model.combined(
                windows.past, windows.changes, scale, features[row, part - 1]
            )
            known, truth = windows.known, histories.values[row, part[:, None] + np.arange(horizon)]
            last = prepared.padded[row, model.lags + part - 1]
            sums.add(row, truth, points, quantiles, last, known)
            if keep:
                kept.append((points, np.where(known, truth, np.nan)))
    found = sums.summary()
    if keep:
        forecasts, targets = zip(*kept, strict=True)
        found |= {"forecasts": np.concatenate(forecasts), "targets": np.concatenate(targets)}
    return found
