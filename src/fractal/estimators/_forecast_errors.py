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

    def __init__(self, rows: int, horizon: int, levels: Sequence[float]):
        self.levels = np.asarray(levels)
        self.by_step, self.count = np.zeros(horizon), np.zeros(horizon)
        self.naive = self.absolute = 0.0
        self.pinball, self.below, self.origins = 0.0, np.zeros(len(self.levels)), 0
        self.rows = [RowSums() for _ in range(rows)]

    def add(
        self,
        row: int,
        truth: Float[np.ndarray, "origins horizon"],
        points: Float[np.ndarray, "origins horizon"],
        quantiles: Float[np.ndarray, "origins horizon levels"],
        last: Float[np.ndarray, " origins"],
        known: Bool[np.ndarray, "origins horizon"],
    ) -> None:
        """Add origins of a row; `last` are the values before them, `known` is False at gaps."""
        error = np.where(known, truth - points, 0.0)
        self.by_step += (error**2).sum(axis=0)
        self.count += known.sum(axis=0)
        self.absolute += np.abs(error).sum()
        self.naive += (np.where(known, truth - last[:, None], 0.0) ** 2).sum()
        self.rows[row].add(truth[known], points[known])
        loss = pinball_loss(truth, quantiles, self.levels.tolist()).mean(axis=-1)
        self.pinball += loss[known].sum()
        self.below += ((truth[..., None] <= quantiles) & known[..., None]).sum(axis=(0, 1))
        self.origins += len(truth)

    def summary(self) -> dict[str, Any]:
        """Means over all values that are known; of R² over rows, each with its own mean."""
        count = self.count.sum()
        if not count:
            raise UserError("has no value after the first origin", argument="y")
        scores = [row.r2() for row in self.rows if row.count > 1]
        return {
            "origins": self.origins,
            "mse": float(self.by_step.sum() / count),
            "mae": float(self.absolute / count),
            "naive_mse": float(self.naive / count),
            "r2": float(np.mean(scores)) if scores else float("nan"),
            "pinball": float(self.pinball / count),
            "coverage": dict(zip(self.levels.tolist(), (self.below / count).tolist(), strict=True)),
            "mse_by_step": self.by_step / np.maximum(self.count, 1),
        }


class RowSums:
    """Sums over the known targets of a row, of which R² is made."""

    def __init__(self):
        self.count, self.shift = 0, 0.0  # sums of squares lose digits far from zero
        self.total = self.squares = self.errors = 0.0

    def add(self, truth: Float[np.ndarray, " known"], points: Float[np.ndarray, " known"]) -> None:
        """Add targets and their forecasts."""
        if not self.count and len(truth):
            self.shift = float(truth[0])
        self.count += len(truth)
        self.total += float((truth - self.shift).sum())
        self.squares += float(((truth - self.shift) ** 2).sum())
        self.errors += float(((truth - points) ** 2).sum())

    def r2(self) -> float:
        """As scikit-learn's `r2_score`: of constant targets 1 if all are met, 0 otherwise."""
        deviation = self.squares - self.total**2 / self.count
        if deviation <= 0:
            return float(self.errors == 0)
        return 1.0 - self.errors / deviation
