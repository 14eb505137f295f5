"""The forecaster: a linear part, and a network with power-law memory that corrects it."""

import os
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from .._checks import check_count, check_flag, check_positive, check_probability
from .._errors import UserError
from ._forecast_data import (
    SEGMENT,
    CarriedState,
    PreparedHistories,
    all_origins,
    gathered,
    network_inputs,
    prepare,
    segments,
)
from ._forecast_errors import ForecastErrors
from ._forecast_file import load_forecaster, save_forecaster
from ._forecast_network import (
    VALUE_INPUTS,
    ForecastNetwork,
    Objective,
    advance,
    corrected_quantiles,
    initial_states,
    middle,
)
from ._forecast_training import train_network
from ._histories import Layout, covariates_of, local_scale, read_histories
from ._lag_regression import (
    Origins,
    fit_lag_regression,
    refitted,
)

_CONTEXT = 512  # default number of lags


class FractalForecaster(BaseEstimator):
    """Forecasts of one or many series, all steps of the horizon in one pass, with quantiles.

    The forecast is the sum of two parts. The linear part is a ridge regression of the horizon on
    the last `context` values; a trivial forecast (the last value, the mean, or with `period` the
    last season) is one of its choices. The second part is a causal network of `FractalSSM` layers,
    which reads the whole history and corrects the first. Both are chosen on the last part of the
    series. All is relative to the deviation of the last values, so that series of any size can be
    forecast by one model; each channel of a series is forecast by itself.

    >>> import numpy as np
    >>> from fractal.estimators import FractalForecaster
    >>> hours = np.arange(600)
    >>> y = np.sin(2 * np.pi * hours / 24) + 0.01 * hours
    >>> forecaster = FractalForecaster(horizon=24, max_steps=0, random_state=0).fit(y)
    >>> truth = np.sin(2 * np.pi * np.arange(600, 624) / 24) + 0.01 * np.arange(600, 624)
    >>> bool(np.abs(forecaster.predict() - truth).max() < 0.05)
    True
    """

    def __init__(
        self,
        horizon: int = 24,
        *,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        period: float | Sequence[float] | None = None,
        context: int | None = None,
        width: int = 32,
        depth: int = 2,
        order: int = 8,
        dropout: float = 0.1,
        lr: float = 2e-3,
        max_steps: int = 200,
        validation_fraction: float = 0.2,
        refit: bool = True,
        verbose: bool = False,
        random_state: Any = None,
    ):
        """
        **Arguments:**

        - `horizon`: number of steps to forecast.
        - `quantiles`: levels of `predict_quantiles`, increasing, between 0 and 1.
        - `period`: season in steps, such as 24 for hours of a day, or several. The last season
          becomes a trivial forecast, and modes of the network resonate with the periods.
        - `context`: number of last values that the linear part reads; by default 512, or a quarter
          of the series where this is less.
        - `width`, `depth`, `order`, `dropout`: of the network.
        - `lr`: learning rate of AdamW, with a cosine schedule.
        - `max_steps`: largest number of train steps; with 0 there is the linear part only.
        - `validation_fraction`: share of each series, at its end, for early stopping, for the
          choice of the linear part and for the quantiles.
        - `refit`: whether to fit the weights of the linear part again to the whole series, after
          all choices.
        - `verbose`: whether to report progress; on a terminal it is always shown.
        - `random_state`: seed of the network and of its training.
        """
        self.horizon = horizon
        self.quantiles = quantiles
        self.period = period
        self.context = context
        self.width = width
        self.depth = depth
        self.order = order
        self.dropout = dropout
        self.lr = lr
        self.max_steps = max_steps
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, y: Any, X: Any = None) -> "FractalForecaster":
        """Fit to series, and remember their ends: `predict()` continues them.

        **Arguments:**

        - `y`: (time,), (series, time), (series, channels, time), or a list of (time,) or
          (channels, time) arrays of different lengths. NaN is missing.
        - `X`: covariates that are known in advance, (covariates, time) for all series or
          (series, covariates, time), aligned with `y`; later steps are ignored.

        An interrupt (Ctrl-C) ends the training and keeps the best network so far.
        """
        self._check()
        histories, layout = read_histories(y, X)
        time = int(histories.lengths.max())
        if X is not None and histories.covariates.shape[1] < time:
            raise UserError(f"must have at least {time} steps, as y has", argument="X")
        covariates = np.concatenate(list(histories.covariates[:, :time]))
        self.covariate_mean_ = covariates.sum(axis=0) / max(len(covariates), 1)
        spread = covariates.std(axis=0) if len(covariates) else np.zeros(0)
        self.covariate_scale_ = np.where(spread > 0, spread, 1.0)
        histories = histories._replace(covariates=self._scaled(histories.covariates))
        training = self._training_lengths(histories.lengths)
        self.context_ = self._context(training)
        prepared = prepare(histories, self.context_, training)
        self.n_covariates_ = covariates.shape[1]
        ends = histories.lengths
        first = np.full_like(training, min(self.context_, int(training.min()) - self.horizon))
        validation = all_origins(prepared, training, ends, self.horizon)
        self.linear_, error = fit_lag_regression(
            all_origins(prepared, first, training, self.horizon), validation, self._season()
        )
        objective = self._fit_quantiles(validation, error)
        self._fit_network(prepared, training, ends, objective)
        if self.refit:
            self.linear_ = refitted(self.linear_, all_origins(prepared, first, ends, self.horizon))
        self.layout_ = layout
        self.state_ = self._read(self._start(histories.values[:, :1]), prepared)[1]
        return self

    def predict(self, y: Any = None, X: Any = None) -> Any:
        """Forecasts of the mean: (horizon,), (series, horizon) or (series, channels, horizon).

        **Arguments:**

        - `y`: histories of other series, as in `fit`; by default those of `fit` and `update`.
        - `X`: covariates of the horizon, (covariates, horizon) or (series, covariates, horizon);
          with `y`, those of the history and the horizon, one after the other.
        """
        points, _, layout = self._forecast(y, X)
        return layout.arranged(points)

    def predict_quantiles(self, y: Any = None, X: Any = None) -> Any:
        """Quantiles of the forecast, as `predict`, with a last axis for the levels `quantiles`."""
        _, quantiles, layout = self._forecast(y, X)
        return layout.arranged(quantiles)

    def update(self, y: Any, X: Any = None) -> "FractalForecaster":
        """Read new values of the series of `fit`: state and last values change, weights do not.

        The forecasts are those of `predict` for the whole history; the cost does not depend on its
        length.

        **Arguments:**

        - `y`: the next values, in the layout of the series of `fit`; any number of steps.
        - `X`: covariates of these steps.
        """
        self._check_fitted()
        histories, layout = read_histories(y, X)
        if (layout.series, layout.channels) != (self.layout_.series, self.layout_.channels):
            raise UserError(
                f"must have {self.layout_.series} series of {self.layout_.channels} channels as "
                f"in fit, got {layout.series} of {layout.channels}",
                argument="y",
            )
        self._check_covariates(histories.covariates, histories.values.shape[1])
        # A value that is missing at the start repeats the last one before.
        values = histories.values.copy()
        for row, there in enumerate(histories.observed):
            values[row, : there.argmax()] = self.state_.recent[row, -1]
        histories = histories._replace(values=values, covariates=self._scaled(histories.covariates))
        padded = np.concatenate([self.state_.recent, values], axis=1)
        inputs, scale = network_inputs(
            padded, histories.observed, histories.covariates, self.context_
        )
        prepared = PreparedHistories(histories, padded, scale, inputs, np.ones(len(padded)))
        self.state_ = self._read(self.state_, prepared)[1]
        return self

    def backtest(
        self,
        y: Any,
        X: Any = None,
        *,
        start: int | None = None,
        stride: int = 1,
        keep: bool = False,
    ) -> dict[str, Any]:
        """Errors of forecasts from rolling origins: every forecast uses the history before it only.

        **Arguments:**

        - `y`: whole series, as in `fit`. NaN is missing, and left out of the errors.
        - `X`: covariates of all steps.
        - `start`: number of steps of each series before the first origin; half of it by default.
        - `stride`: steps between origins.
        - `keep`: whether to return the `forecasts` and `targets` too, (origins, horizon), row by
          row; missing targets are NaN.

        **Returns:** `origins` (their number), `mse` and `mae`, `naive_mse` (of the last value),
        `mse_by_step` (of each step of the horizon), `r2` (1 − mse / variance of the targets),
        `pinball` (mean over levels) and `coverage` (share of values below each quantile).
        """
        self._check_fitted()
        stride = check_count("stride", stride, smallest=1)
        histories, _ = read_histories(y, X)
        self._check_covariates(histories.covariates, histories.values.shape[1])
        first = (
            histories.lengths // 2
            if start is None
            else np.full_like(histories.lengths, check_count("start", start, smallest=1))
        )
        if (histories.lengths < first + self.horizon).all():
            raise UserError(
                f"leaves no origin with {self.horizon} later steps in a series of "
                f"{histories.lengths.max()}",
                argument="start",
            )
        histories = histories._replace(covariates=self._scaled(histories.covariates))
        prepared = prepare(histories, self.context_, histories.lengths)
        features, _ = self._read(self._start(histories.values[:, :1]), prepared)
        sums, kept = ForecastErrors(self.horizon, self.quantiles), []
        for row, end in enumerate(histories.lengths.tolist()):
            origins = np.arange(int(first[row]), end - self.horizon + 1, stride)
            for part in np.array_split(origins, -(-len(origins) // 512)) if len(origins) else ():
                found = gathered(prepared, row, part, self.horizon)
                scale = prepared.scale[row, part - 1]
                points, quantiles = self._combined(found, scale, features[row, part - 1])
                ahead = part[:, None] + np.arange(self.horizon)
                known = histories.observed[row, ahead]
                last = prepared.padded[row, self.context_ + part - 1]
                truth = histories.values[row, ahead]
                sums.add(truth, points, quantiles, last, known)
                if keep:
                    kept.append((points, np.where(known, truth, np.nan)))
        found = sums.summary()
        if keep:
            forecasts, targets = zip(*kept, strict=True)
            found |= {"forecasts": np.concatenate(forecasts), "targets": np.concatenate(targets)}
        return found

    def score(self, y: Any, X: Any = None) -> float:
        """Coefficient of determination R² of `backtest` over the second half of the series."""
        return self.backtest(y, X)["r2"]

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted forecaster, with the ends of its series, to one safetensors file."""
        self._check_fitted()
        save_forecaster(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "FractalForecaster":
        """Read a forecaster that `save` wrote. Loading executes no code of the file."""
        return load_forecaster(path, cls)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this FractalForecaster is not fitted yet: call fit first")

    def _check(self) -> None:
        check_count("horizon", self.horizon, smallest=1, largest=100_000)
        levels = np.asarray(self.quantiles, float)
        inside = levels.ndim == 1 and len(levels) and levels.min() > 0 and levels.max() < 1
        if not inside or (np.diff(levels) <= 0).any():
            raise UserError(
                f"must be increasing levels between 0 and 1, got {self.quantiles!r}",
                argument="quantiles",
            )
        if self.context is not None:
            check_count("context", self.context, smallest=1)
        check_count("max_steps", self.max_steps, smallest=0)
        check_positive("lr", self.lr)
        check_probability("dropout", self.dropout)
        if check_probability("validation_fraction", self.validation_fraction) == 0:
            raise UserError("must lie in (0, 1), got 0", argument="validation_fraction")
        check_flag("refit", self.refit)
        if self.period is not None:
            for one in np.atleast_1d(np.asarray(self.period, float)).tolist():
                check_positive("period", one)

    def _season(self) -> int | None:
        """The shortest period, which repeats in the trivial forecast."""
        if self.period is None:
            return None
        return max(1, round(float(np.min(self.period))))

    def _training_lengths(self, lengths: np.ndarray) -> np.ndarray:
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

    def _context(self, training: np.ndarray) -> int:
        shortest = int(training.min())
        if self.context is not None:
            return min(self.context, shortest - self.horizon)
        season = 2 * (self._season() or 1)
        wanted = min(_CONTEXT, max(shortest // 4, season))
        return max(1, min(wanted, shortest - self.horizon))

    def _scaled(self, covariates: np.ndarray) -> np.ndarray:
        if not covariates.shape[2]:
            return covariates
        return (covariates - self.covariate_mean_) / self.covariate_scale_

    def _check_covariates(self, covariates: np.ndarray, steps: int) -> None:
        count = covariates.shape[2]
        if count != self.n_covariates_:
            raise UserError(
                f"must have {self.n_covariates_} covariates as in fit, got {count}", argument="X"
            )
        if count and covariates.shape[1] < steps:
            raise UserError(f"must have {steps} steps, got {covariates.shape[1]}", argument="X")

    def _fit_quantiles(self, validation: list[Origins], error: float) -> Objective:
        """Quantiles of the errors of the linear part, per step of the horizon."""
        errors = np.concatenate(
            [one.future - self.linear_.forecast(one.past, one.changes, np.ones(len(one.past)))
             for one in validation]
        )  # fmt: skip
        weights = np.concatenate([one.weight for one in validation])[:, None]
        self.error_quantiles_ = np.quantile(errors, np.asarray(self.quantiles), axis=0).T
        difference = errors[..., None] - self.error_quantiles_
        levels = np.asarray(self.quantiles)
        pinball = np.maximum(levels * difference, (levels - 1) * difference).mean(axis=-1)
        return Objective(
            jnp.asarray(self.error_quantiles_, jnp.float32),
            jnp.asarray(levels, jnp.float32),
            middle(self.quantiles),
            jnp.asarray(max(error, 1e-12), jnp.float32),
            jnp.asarray(max(float((pinball * weights).mean()), 1e-12), jnp.float32),
        )

    def _network(self, length: int, key: Any) -> ForecastNetwork:
        return ForecastNetwork(
            VALUE_INPUTS + self.n_covariates_,
            self.horizon,
            len(self.quantiles),
            width=self.width,
            depth=self.depth,
            order=self.order,
            length=length,
            period=self.period,
            dropout=self.dropout,
            key=key,
        )

    def _fit_network(
        self,
        prepared: PreparedHistories,
        training: np.ndarray,
        ends: np.ndarray,
        objective: Objective,
    ) -> None:
        length = min(SEGMENT, int(training.min()) - self.horizon)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.network_ = self._network(self.context_, jax.random.key(seed))
        self.history_, self.n_steps_, self.correction_ = [], 0, 1.0
        held = segments(prepared, self.linear_, training, ends, length, self.horizon)
        if self.max_steps == 0 or not len(held.ends):
            return
        first = np.zeros_like(training)
        trained = train_network(
            self.network_,
            segments(prepared, self.linear_, first, training, length, self.horizon),
            held,
            objective,
            lr=self.lr,
            steps=self.max_steps,
            seed=seed,
            verbose=self.verbose,
        )
        self.network_, self.n_steps_, self.correction_, self.history_ = trained

    def _start(self, first: np.ndarray) -> CarriedState:
        """Before the first step, whose values are `first`, (rows, 1)."""
        rows = len(first)
        return CarriedState(
            np.repeat(first, self.context_, axis=1),
            initial_states(self.network_, rows),
            np.zeros((rows, self.width), np.float32),
            np.zeros((rows, self.n_covariates_)),
        )

    def _read(
        self, stream: CarriedState, prepared: PreparedHistories
    ) -> tuple[np.ndarray, CarriedState]:
        """Features of all steps, and the stream after them."""
        lengths = prepared.histories.lengths
        rows = np.arange(len(lengths))
        features, states = advance(self.network_, prepared.inputs, stream.states, lengths)
        recent = prepared.padded[rows[:, None], lengths[:, None] + np.arange(self.context_)]
        covariates = np.zeros((len(rows), 0))
        if self.n_covariates_:
            covariates = prepared.histories.covariates[rows, lengths - 1]
        return features, CarriedState(recent, states, features[rows, lengths - 1], covariates)

    def _forecast(self, y: Any, X: Any) -> tuple[np.ndarray, np.ndarray, Layout]:
        self._check_fitted()
        stream, layout = self.state_, self.layout_
        if y is None:
            ahead = covariates_of(X, layout)
            self._check_covariates(ahead, self.horizon)
            ahead = self._scaled(ahead)
        else:
            histories, layout = read_histories(y, X)
            time = histories.values.shape[1]
            self._check_covariates(histories.covariates, time + self.horizon)
            if self.n_covariates_ and (histories.lengths < time).any():
                raise UserError("must have series of equal length with covariates", argument="y")
            histories = histories._replace(covariates=self._scaled(histories.covariates))
            prepared = prepare(histories, self.context_, histories.lengths)
            stream = self._read(self._start(histories.values[:, :1]), prepared)[1]
            ahead = histories.covariates[:, time:]
        scale = _deviation(stream.recent)
        changes = np.zeros((len(scale), self.horizon, self.n_covariates_))
        if self.n_covariates_:
            changes = ahead[:, : self.horizon] - stream.covariates[:, None]
        past = stream.recent / scale[:, None]
        nothing = np.zeros((len(scale), self.horizon))
        origins = Origins(past, changes, nothing, np.ones(len(scale)))
        return *self._combined(origins, scale, stream.features), layout

    def _combined(
        self, origins: Origins, scale: np.ndarray, features: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points (origins, horizon) and quantiles (origins, horizon, levels) in data units."""
        linear = self.linear_.forecast(origins.past, origins.changes, np.ones(len(scale)))
        found = np.asarray(self.network_.corrections(jnp.asarray(features)), np.float64)
        quantiles = corrected_quantiles(
            found[..., 1:], self.error_quantiles_, middle(self.quantiles), np
        )
        # A constant past has no unit in which errors could be expressed: it is continued.
        unit = np.where(np.ptp(origins.past, axis=1) > 0, scale, 0.0)[:, None]
        level = linear * scale[:, None]
        points = level + self.correction_ * found[..., 0] * unit
        return points, level[..., None] + quantiles * unit[..., None]


def _deviation(recent: np.ndarray) -> np.ndarray:
    padded = np.concatenate([recent[:, :1], recent], axis=1)
    spread = local_scale(padded, recent.shape[1])[1, :, -1]
    return np.where(spread > 0, spread, 1.0)
