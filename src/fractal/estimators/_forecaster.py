"""The forecaster: a linear part, and a network with power-law memory that corrects it."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._checks import check_count, check_flag
from .._errors import UserError
from ._backtest import rolling_errors
from ._bounds import check_history_memory
from ._forecast_file import load_forecaster, save_forecaster
from ._forecast_fit import fit_forecast
from ._forecast_settings import forecast_settings
from ._frames import covariates_in, in_order, series_of
from ._histories import Histories, Layout, covariates_of, read_histories


class FractalForecaster(BaseEstimator):
    """Forecasts of one or many series, all steps of the horizon in one pass, with quantiles.

    The forecast is the sum of two parts. The linear part is a ridge regression of the horizon on
    the last `context` values; a trivial forecast (the last value, the mean, or with `period` the
    last season) is one of its choices. The second part is a causal network of `FractalSSM` layers,
    which reads the whole history and corrects the first. Both are chosen on the last part of the
    series. Values are scaled by the standard deviation of the last `context` values, so that one
    model forecasts series of any amplitude. Each channel of a series is forecast independently.

    >>> import numpy as np
    >>> from fractal.estimators import FractalForecaster
    >>> hours = np.arange(600)
    >>> y = np.sin(2 * np.pi * hours / 24) + 0.01 * hours
    >>> forecaster = FractalForecaster(horizon=24, max_steps=0, random_state=0).fit(y)
    >>> truth = np.sin(2 * np.pi * np.arange(600, 624) / 24) + 0.01 * np.arange(600, 624)
    >>> bool(np.abs(forecaster.predict() - truth).max() < 0.05)
    True

    **Attributes** after `fit`: `context_`, the number of last values that the linear part reads;
    `history_`, the losses of the network, and `n_steps_`, the step of its best weights; `ids_`, the
    ids of the series if they were given as a long table, else None.
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
          becomes a trivial forecast, if the context contains it, and modes of the network resonate
          with the periods.
        - `context`: number of last values that the linear part reads; by default 512, or a quarter
          of the series where this is less, but at least a season.
        - `width`, `depth`, `order`, `dropout`: of the network.
        - `lr`: learning rate of AdamW, with a cosine schedule.
        - `max_steps`: maximum number of train steps; with 0 there is the linear part only.
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
        """Fit to series, and store their ends: `predict()` continues them.

        **Arguments:**

        - `y`: (time,), (series, time), (series, channels, time), or a list of (time,) or
          (channels, time) arrays of different lengths. NaN is missing. The rows of a pandas data
          frame are steps of time, its columns the channels of one series. With the columns `id`
          and `time` it contains several series, in the order of their first rows. Consecutive
          rows are consecutive steps: a missing time needs a row of NaN.
        - `X`: covariates that are known in advance, (covariates, time) for all series or
          (series, covariates, time), or a data frame with a row per step; aligned with `y`,
          later steps are ignored.

        An interrupt (Ctrl-C) ends the training and keeps the best network so far.
        """
        settings = forecast_settings(self)
        histories, layout, ids = _read(y, X)
        model, steps, history = fit_forecast(settings, histories)
        prepared = model.prepared(histories)
        self.state_ = model.read(model.start(prepared), prepared)
        self.model_, self.n_steps_, self.history_ = model, steps, history
        self.context_, self.layout_, self.ids_ = model.lags, layout, ids
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

        - `y`: the next values, in the layout of the series of `fit`; any number of steps, of which
          all may be missing. A long table has the ids of `fit`, in any order.
        - `X`: covariates of these steps.
        """
        self._check_fitted()
        histories, layout, _ = _read(y, X, ids=self.ids_, continued=True)
        if (layout.series, layout.channels) != (self.layout_.series, self.layout_.channels):
            raise UserError(
                f"must have {self.layout_.series} series of {self.layout_.channels} channels as "
                f"in fit, got {layout.series} of {layout.channels}",
                argument="y",
            )
        self.state_ = self.model_.read(self.state_, self.model_.continued(self.state_, histories))
        return self

    def backtest(
        self,
        y: Any,
        X: Any = None,
        *,
        start: int | Sequence[int] | None = None,
        stride: int = 1,
        keep: bool = False,
    ) -> dict[str, Any]:
        """Errors of forecasts from rolling origins: every forecast uses the history before it only.

        **Arguments:**

        - `y`: whole series, as in `fit`. NaN is missing, and left out of the errors.
        - `X`: covariates of all steps.
        - `start`: number of steps before the first origin, for all series or one per series; half
          of each by default.
        - `stride`: steps between origins.
        - `keep`: whether to return the `forecasts` and `targets` too, (origins, horizon), row by
          row; missing targets are NaN.

        **Returns:** `origins` (their number), `mse` and `mae`, `naive_mse` (mse of the last value
        as forecast), `mse_by_step` (of each step of the horizon), `r2`, `pinball` (mean over
        levels) and `coverage` (share of values below each quantile).

        Errors are means over all targets of all channels and series, in the units of `y` (`mse`:
        their square). If channels have different units or scales, the largest dominates these
        means: standardize them first. `r2` has no unit: it is computed for each channel of each
        series against the mean of its own targets, then averaged, as
        `sklearn.metrics.r2_score(multioutput="uniform_average")` does.
        """
        self._check_fitted()
        stride = check_count("stride", stride, smallest=1)
        keep = check_flag("keep", keep)
        histories, layout, _ = _read(y, X)
        first = _first_origins(start, histories, layout)
        if (histories.lengths < first + self.model_.horizon).all():
            raise UserError(
                f"leaves no origin with {self.model_.horizon} later steps in a series of "
                f"{histories.lengths.max()}",
                argument="start",
            )
        return rolling_errors(self.model_, histories, first, stride, keep)

    def score(self, y: Any, X: Any = None) -> float:
        """Coefficient of determination R² of `backtest` over the second half of the series.

        The mean over channels and series.
        """
        return self.backtest(y, X)["r2"]

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted forecaster, with the ends of its series, to one safetensors file."""
        self._check_fitted()
        save_forecaster(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "FractalForecaster":
        """Read a forecaster written by `save`. Loading does not execute code from the file."""
        return load_forecaster(path, cls)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this FractalForecaster is not fitted yet: call fit first")

    def _forecast(self, y: Any, X: Any) -> tuple[np.ndarray, np.ndarray, Layout]:
        """Points, quantiles, and how their rows are arranged."""
        self._check_fitted()
        model, horizon = self.model_, self.model_.horizon
        if y is None:
            known = covariates_of(covariates_in(X), self.layout_)
            ahead = model.covariates.applied(known, horizon)
            return *model.ahead(self.state_, ahead), self.layout_
        histories, layout, _ = _read(y, X)
        time = histories.values.shape[1]
        prepared = model.prepared(histories, horizon)
        if model.covariates.size and (histories.lengths < time).any():
            raise UserError("must have series of equal length with covariates", argument="y")
        state = model.read(model.start(prepared), prepared)
        return *model.ahead(state, prepared.histories.covariates[:, time:]), layout


def _read(
    y: Any, X: Any, *, ids: list[Any] | None = None, continued: bool = False
) -> tuple[Histories, Layout, list[Any] | None]:
    """Series and covariates of any form, and the ids of series; in the order of `ids` if given."""
    series, found = series_of(y)
    series = in_order(series, found, ids)
    check_history_memory(series)
    return *read_histories(series, covariates_in(X), continued=continued), found


def _first_origins(
    start: int | Sequence[int] | None, histories: Histories, layout: Layout
) -> Int[np.ndarray, " rows"]:
    """The first origin of each row."""
    if start is None:
        return np.maximum(histories.lengths // 2, 1)
    if not np.ndim(start):
        return np.full_like(histories.lengths, check_count("start", start, smallest=1))
    each = [check_count("start", one, smallest=1) for one in np.asarray(start).tolist()]
    if len(each) != layout.series:
        raise UserError(
            f"must be one number, or one per series, {layout.series}, got {len(each)}",
            argument="start",
        )
    return np.repeat(each, layout.channels)
