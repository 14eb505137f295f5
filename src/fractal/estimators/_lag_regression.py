"""The linear part of a forecast: ridge regression of the horizon on the last values.

The forecast is that of a trivial method plus a linear map of the last `lags` values. The trivial
method (last value, mean, or last season) and the penalty are chosen on the last part of the series,
and an infinite penalty is among the choices: the linear part is no worse there than the trivial
forecast.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .._bounds import check_memory

_PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, np.inf)
_BLOCK = 2048  # origins per block
_MOST_ROWS = 100_000  # origins of the regression; of more, evenly spaced ones are taken


class Origins(NamedTuple):
    """Windows before some origins, in units of the windows' deviations, and what follows.

    - `past`: the last values; `changes`: of covariates from the origin to each later step.
    - `weight`: deviation of the window relative to that of the series.
    """

    past: Float[np.ndarray, "origins lags"]
    changes: Float[np.ndarray, "origins horizon covariates"]
    future: Float[np.ndarray, "origins horizon"]
    weight: Float[np.ndarray, " origins"]


class LagRegression(NamedTuple):
    """Weights of the last values and of the changes of covariates, and the trivial method."""

    weights: Float[np.ndarray, "lags horizon"]
    effects: Float[np.ndarray, "horizon covariates"]
    base: str
    period: int
    penalty: float

    def forecast(
        self,
        past: Float[np.ndarray, "origins lags"],
        changes: Float[np.ndarray, "origins horizon covariates"],
    ) -> Float[np.ndarray, "origins horizon"]:
        """Forecasts in the units of `past`, which are those of its deviation."""
        level, trivial = trivial_forecast(past, len(self.effects), self.base, self.period)
        found = trivial + (past - level) @ self.weights
        if self.effects.shape[1]:
            found = found + np.einsum("ohk,hk->oh", changes, self.effects)
        return found


def trivial_forecast(
    past: Float[np.ndarray, "origins lags"], horizon: int, base: str, period: int
) -> tuple[np.ndarray, np.ndarray]:
    """The level that is subtracted from the past, and the forecast of the trivial method."""
    mean = past.mean(axis=1, keepdims=True)
    if base == "last":
        return past[:, -1:], np.repeat(past[:, -1:], horizon, axis=1)
    if base == "mean":
        return mean, np.repeat(mean, horizon, axis=1)
    season = np.tile(past[:, -period:], (1, -(-horizon // period)))
    return mean, season[:, :horizon]


class _Sums(NamedTuple):
    """Sums of products: of the past with itself, with the future and with covariates, …"""

    past: np.ndarray  # (lags, lags)
    future: np.ndarray  # (lags, horizon)
    mixed: np.ndarray  # (lags, horizon, covariates)
    changes: np.ndarray  # (horizon, covariates, covariates)
    effects: np.ndarray  # (horizon, covariates)


def fit_lag_regression(
    training: list[Origins], validation: list[Origins], period: int | None
) -> tuple[LagRegression, float]:
    """The best regression on the validation origins, and its mean squared error there."""
    lags, horizon = training[0].past.shape[1], training[0].future.shape[1]
    covariates = training[0].changes.shape[2]
    check_memory(8.0 * lags * (lags + horizon * (1 + covariates)) * 3, f"{lags} lags")
    bases = ["last", "mean", *(["season"] if period is not None and period <= lags else [])]
    best: tuple[float, LagRegression] | None = None
    for base in bases:
        sums = _sums(training, base, period or 1)
        for penalty in _PENALTIES:
            found = _solved(sums, penalty, base, period or 1, horizon, covariates)
            error = _error(found, validation)
            if best is None or error < best[0]:
                best = error, found
    assert best is not None
    return best[1], best[0]


def refitted(chosen: LagRegression, origins: list[Origins]) -> LagRegression:
    """The same method and penalty, fitted to other origins."""
    horizon, covariates = chosen.effects.shape
    sums = _sums(origins, chosen.base, chosen.period)
    return _solved(sums, chosen.penalty, chosen.base, chosen.period, horizon, covariates)


def blocks(origins: list[Origins]) -> Iterator[Origins]:
    for one in origins:
        for start in range(0, len(one.weight), _BLOCK):
            yield Origins(*(part[start : start + _BLOCK] for part in one))


def _sums(origins: list[Origins], base: str, period: int) -> _Sums:
    total: list[np.ndarray] | None = None
    for past, changes, future, weight in blocks(origins):
        level, trivial = trivial_forecast(past, future.shape[1], base, period)
        x = ((past - level) * weight[:, None]).astype(np.float32)
        y = ((future - trivial) * weight[:, None]).astype(np.float32)
        c = (changes * weight[:, None, None]).astype(np.float32)
        parts = [
            x.T @ x,
            x.T @ y,
            np.einsum("ol,ohk->lhk", x, c, optimize=True),
            np.einsum("ohj,ohk->hjk", c, c, optimize=True),
            np.einsum("oh,ohk->hk", y, c, optimize=True),
        ]
        if total is None:
            total = [part.astype(np.float64) for part in parts]
        else:
            for sum_, part in zip(total, parts, strict=True):
                sum_ += part
    assert total is not None
    return _Sums(*total)


def _solved(
    sums: _Sums, penalty: float, base: str, period: int, horizon: int, covariates: int
) -> LagRegression:
    """Ridge regression by elimination of the past, which all horizons share."""
    lags = len(sums.past)
    weights, effects = np.zeros((lags, horizon)), np.zeros((horizon, covariates))
    if np.isfinite(penalty):
        unit = max(np.trace(sums.past) / lags, 1e-12)
        solve = np.linalg.inv(sums.past + penalty * unit * np.eye(lags))
        weights = solve @ sums.future
        if covariates:
            mixed = np.einsum("lm,mhk->lhk", solve, sums.mixed, optimize=True)
            left = sums.changes - np.einsum("lhj,lhk->hjk", sums.mixed, mixed, optimize=True)
            right = sums.effects - np.einsum("lh,lhk->hk", sums.future, mixed, optimize=True)
            size = np.einsum("hkk->h", sums.changes)[:, None, None] / covariates
            left = left + (penalty * size + 1e-9) * np.eye(covariates)
            effects = np.linalg.solve(left, right[..., None])[..., 0]
            weights = weights - np.einsum("lhk,hk->lh", mixed, effects)
    return LagRegression(weights, effects, base, period, penalty)


def _error(found: LagRegression, origins: list[Origins]) -> float:
    total, count = 0.0, 0
    for past, changes, future, weight in blocks(origins):
        forecast = found.forecast(past, changes)
        total += float(np.sum(((forecast - future) * weight[:, None]) ** 2))
        count += future.size
    return total / count


def chosen_origins(origins: np.ndarray, rows: int) -> np.ndarray:
    """At most as many origins of a row as the regression can take of each of `rows` rows."""
    most = max(1, _MOST_ROWS // rows)
    return origins[:: -(-len(origins) // most)] if len(origins) else origins
