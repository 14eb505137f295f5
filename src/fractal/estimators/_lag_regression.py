"""The linear part of a forecast: ridge regression of the horizon on the last values.

The forecast is that of a trivial method plus a linear map of the last `lags` values. The trivial
method (last value, mean, or last season) and the penalty are chosen on the last part of the series,
and an infinite penalty is among the choices: the linear part is no worse there than the trivial
forecast. Missing values are neither fitted nor scored.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .._bounds import check_memory

_PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, np.inf)
_BLOCK = 2048  # origins per block
_MOST_ROWS = 100_000  # origins of the regression; of more, evenly spaced ones are taken


class Origins(NamedTuple):
    """Windows before some origins, in units of the windows' deviations, and what follows.

    - `past`: the last values; `changes`: of covariates from the origin to each later step.
    - `weight`: deviation of the window relative to that of the series.
    - `known`: False where the value that follows is missing.
    """

    past: Float[np.ndarray, "origins lags"]
    changes: Float[np.ndarray, "origins horizon covariates"]
    future: Float[np.ndarray, "origins horizon"]
    weight: Float[np.ndarray, " origins"]
    known: Bool[np.ndarray, "origins horizon"]


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
    """Sums of products: of the past with itself, with the future and with covariates, …

    All but the first are sums over the origins whose value at the step is known.
    """

    past: np.ndarray  # (lags, lags)
    future: np.ndarray  # (lags, horizon)
    mixed: np.ndarray  # (lags, horizon, covariates)
    changes: np.ndarray  # (horizon, covariates, covariates)
    effects: np.ndarray  # (horizon, covariates)

    def of(self, steps: np.ndarray, past: np.ndarray) -> "_Sums":
        """The sums of some steps, with another one of the past."""
        future, mixed = self.future[:, steps], self.mixed[:, steps]
        return _Sums(past, future, mixed, self.changes[steps], self.effects[steps])


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
        for found in _solutions(training, base, period or 1, _PENALTIES):
            error = _error(found, validation)
            if best is None or error < best[0]:
                best = error, found
    assert best is not None
    return best[1], best[0]


def refitted(chosen: LagRegression, origins: list[Origins]) -> LagRegression:
    """The same method and penalty, fitted to other origins."""
    return _solutions(origins, chosen.base, chosen.period, (chosen.penalty,))[0]


def _solutions(
    origins: list[Origins], base: str, period: int, penalties: Sequence[float]
) -> list[LagRegression]:
    """The regression with each penalty."""
    sums = _sums(origins, base, period)
    found = [
        LagRegression(np.zeros_like(sums.future), np.zeros_like(sums.effects), base, period, one)
        for one in penalties
    ]
    for steps, past in _past_sums(origins, base, period, sums.past):
        part = sums.of(steps, past)
        for one in found:
            if np.isfinite(one.penalty):
                one.weights[:, steps], one.effects[steps] = _solved(part, one.penalty)
    return found


def blocks(origins: list[Origins]) -> Iterator[Origins]:
    for one in origins:
        for start in range(0, len(one.weight), _BLOCK):
            yield Origins(*(part[start : start + _BLOCK] for part in one))


def _sums(origins: list[Origins], base: str, period: int) -> _Sums:
    total: list[np.ndarray] | None = None
    for one in blocks(origins):
        x, trivial = _scaled_past(one, base, period)
        known = one.known * one.weight[:, None]
        y = ((one.future - trivial) * known).astype(np.float32)
        c = (one.changes * known[..., None]).astype(np.float32)
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


def _scaled_past(origins: Origins, base: str, period: int) -> tuple[np.ndarray, np.ndarray]:
    """What the weights are fitted to, and the trivial forecast."""
    level, trivial = trivial_forecast(origins.past, origins.future.shape[1], base, period)
    return ((origins.past - level) * origins.weight[:, None]).astype(np.float32), trivial


def _past_sums(
    origins: list[Origins], base: str, period: int, of_all: np.ndarray
) -> Iterator[tuple[Int[np.ndarray, " steps"], Float[np.ndarray, "lags lags"]]]:
    """Steps of the horizon, and the sum of products of the past that they share.

    Steps without gaps share that of all origins. One with gaps has its own, without the origins
    whose value is missing.
    """
    known = np.concatenate([one.known for one in origins])
    complete = known.all(axis=0)
    if complete.any():
        yield np.nonzero(complete)[0], of_all
    if complete.all():
        return
    x = np.concatenate([_scaled_past(one, base, period)[0] for one in blocks(origins)])
    for step in np.nonzero(~complete)[0]:
        there = known[:, step]
        few = 2 * there.sum() < len(there)  # sum the smaller part
        part = x[there] if few else x[~there]
        own = (part.T @ part).astype(np.float64)
        yield np.array([step]), own if few else of_all - own


def _solved(sums: _Sums, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression by elimination of the past, which the steps share: weights, effects."""
    lags, horizon, covariates = sums.mixed.shape
    unit = max(np.trace(sums.past) / lags, 1e-12)
    right = np.concatenate([sums.future, sums.mixed.reshape(lags, -1)], axis=1)
    solved = np.linalg.solve(sums.past + penalty * unit * np.eye(lags), right)
    weights, mixed = solved[:, :horizon], solved[:, horizon:].reshape(sums.mixed.shape)
    if not covariates:
        return weights, np.zeros((horizon, 0))
    left = sums.changes - np.einsum("lhj,lhk->hjk", sums.mixed, mixed, optimize=True)
    target = sums.effects - np.einsum("lh,lhk->hk", sums.future, mixed, optimize=True)
    size = np.einsum("hkk->h", sums.changes)[:, None, None] / covariates
    left = left + (penalty * size + 1e-9) * np.eye(covariates)
    effects = np.linalg.solve(left, target[..., None])[..., 0]
    return weights - np.einsum("lhk,hk->lh", mixed, effects), effects


def _error(found: LagRegression, origins: list[Origins]) -> float:
    """The mean square of the errors at known values."""
    total, count = 0.0, 0
    for one in blocks(origins):
        error = found.forecast(one.past, one.changes) - one.future
        total += float(np.sum((error * one.weight[:, None])[one.known] ** 2))
        count += int(one.known.sum())
    return total / count


def chosen_origins(origins: np.ndarray, rows: int) -> np.ndarray:
    """At most as many origins of a row as the regression can take of each of `rows` rows."""
    most = max(1, _MOST_ROWS // rows)
    return origins[:: -(-len(origins) // most)] if len(origins) else origins
