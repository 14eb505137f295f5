"""Settings of a forecaster, validated, and the lengths that follow from them for some series."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from .._checks import (
    check_count,
    check_flag,
    check_order,
    check_positive,
    check_probability,
    check_real,
)
from .._errors import UserError
from ._random_state import seed_of

_CONTEXT = 512  # default number of lags
_LARGEST_HORIZON = 100_000


class ForecastSettings(NamedTuple):
    """The arguments of `FractalForecaster`; `levels` are its quantiles."""

    horizon: int
    levels: tuple[float, ...]
    periods: tuple[float, ...] | None
    context: int | None
    width: int
    depth: int
    order: int
    dropout: float
    lr: float
    max_steps: int
    validation_fraction: float
    refit: bool
    verbose: bool
    seed: int

    @property
    def season(self) -> int | None:
        """The shortest period, which repeats in the trivial forecast."""
        return None if self.periods is None else max(1, round(min(self.periods)))

    def training_lengths(self, lengths: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " rows"]:
        """Steps of each row before its validation part."""
        held = np.maximum(np.round(lengths * self.validation_fraction), self.horizon).astype(int)
        training = lengths - held
        needed = self.horizon + 2
        if (training < needed).any():
            row = int((training < needed).argmax())
            raise UserError(
                f"has a series of {lengths[row]} steps: a horizon of {self.horizon} needs at least "
                f"{needed + max(self.horizon, int(np.ceil(needed * self.validation_fraction)))}",
                argument="y",
            )
        return training

    def lags(self, training: Int[np.ndarray, " rows"]) -> int:
        """Number of last values that the linear part reads."""
        shortest = int(training.min())
        wanted = self.context
        if wanted is None:
            season = self.season or 1
            wanted = max(season, min(_CONTEXT, max(shortest // 4, 2 * season)))
        return max(1, min(wanted, shortest - self.horizon))


def forecast_settings(forecaster: Any) -> ForecastSettings:
    """The settings of a forecaster; UserError names the first that is wrong."""
    context = forecaster.context
    fraction = check_probability("validation_fraction", forecaster.validation_fraction)
    if fraction == 0:
        raise UserError("must lie in (0, 1), got 0", argument="validation_fraction")
    return ForecastSettings(
        horizon=check_count("horizon", forecaster.horizon, 1, _LARGEST_HORIZON),
        levels=_levels(forecaster.quantiles),
        periods=None if forecaster.period is None else _periods(forecaster.period),
        context=None if context is None else check_count("context", context, 1),
        width=check_count("width", forecaster.width, 1),
        depth=check_count("depth", forecaster.depth, 1),
        order=check_order(forecaster.order),
        dropout=check_probability("dropout", forecaster.dropout),
        lr=check_positive("lr", forecaster.lr),
        max_steps=check_count("max_steps", forecaster.max_steps, 0),
        validation_fraction=fraction,
        refit=check_flag("refit", forecaster.refit),
        verbose=check_flag("verbose", forecaster.verbose),
        seed=seed_of(forecaster.random_state),
    )


def _levels(quantiles: Any) -> tuple[float, ...]:
    levels = check_real("quantiles", quantiles)
    inside = levels.ndim == 1 and levels.size and levels.min() > 0 and levels.max() < 1
    if not inside or (np.diff(levels) <= 0).any():
        raise UserError(
            f"must be increasing levels between 0 and 1, got {quantiles!r:.60}",
            argument="quantiles",
        )
    return tuple(levels.tolist())


def _periods(period: Any) -> tuple[float, ...]:
    periods = np.atleast_1d(check_real("period", period))
    if periods.ndim != 1 or not periods.size or periods.min() < 2:
        raise UserError(
            f"must be at least 2 steps, or a list of such, got {period!r:.60}", argument="period"
        )
    return tuple(periods.tolist())
