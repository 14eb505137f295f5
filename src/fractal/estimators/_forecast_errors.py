"""Errors of forecasts from rolling origins, summed up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from .._errors import UserError


def pinball_loss(
    truth: Float[np.ndarray, "*axes"], quantiles: Float[np.ndarray, "..."], levels: Sequence[float]
) -> Float[np.ndarray, "*axes levels"]:
    """Pinball loss of quantiles, (…, levels), at each level."""
    difference = truth[..., None] - quantiles
    return np.maximum(np.multiply(levels, difference), np.subtract(levels, 1) * difference)


class ForecastErrors:
    """Sums of errors over origins, of which the summary is made."""

    def __init__(self, horizon: int, levels: Sequence[float]):
        self.levels = np.asarray(levels)
        self.by_step, self.count = np.zeros(horizon), np.zeros(horizon)
        self.naive = self.absolute = self.total = self.squares = 0.0
        self.pinball, self.below, self.origins = 0.0, np.zeros(len(self.levels)), 0

    def add(
        self,
        truth: Float[np.ndarray, "origins horizon"],
        points: Float[np.ndarray, "origins horizon"],
        quantiles: Float[np.ndarray, "origins horizon levels"],
        last: Float[np.ndarray, " origins"],
        known: Bool[np.ndarray, "origins horizon"],
    ) -> None:
        """Add some origins; `last` are the values before them, `known` is False at gaps."""
        error = np.where(known, truth - points, 0.0)
        self.by_step += (error**2).sum(axis=0)
        self.count += known.sum(axis=0)
        self.absolute += np.abs(error).sum()
        self.naive += (np.where(known, truth - last[:, None], 0.0) ** 2).sum()
        self.total += truth[known].sum()
        self.squares += (truth[known] ** 2).sum()
        loss = pinball_loss(truth, quantiles, self.levels.tolist()).mean(axis=-1)
        self.pinball += loss[known].sum()
        self.below += ((truth[..., None] <= quantiles) & known[..., None]).sum(axis=(0, 1))
        self.origins += len(truth)

    def summary(self) -> dict[str, Any]:
        """Means over all values that are known."""
        count = self.count.sum()
        if not count:
            raise UserError("has no value after the first origin", argument="y")
        mse = float(self.by_step.sum() / count)
        variance = float(self.squares / count - (self.total / count) ** 2)
        return {
            "origins": self.origins,
            "mse": mse,
            "mae": float(self.absolute / count),
            "naive_mse": float(self.naive / count),
            "r2": 1.0 - mse / variance if variance > 0 else float("nan"),
            "pinball": float(self.pinball / count),
            "coverage": dict(zip(self.levels.tolist(), (self.below / count).tolist(), strict=True)),
            "mse_by_step": self.by_step / np.maximum(self.count, 1),
        }
