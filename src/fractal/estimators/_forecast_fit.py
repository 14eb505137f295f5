"""Fitting a forecast: the linear part, the quantiles of its errors, then the network."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from .._errors import UserError
from ._covariates import learn_scale
from ._forecast_data import SEGMENT, PreparedHistories, all_origins, prepare, segments
from ._forecast_errors import pinball_loss
from ._forecast_model import ForecastModel
from ._forecast_network import VALUE_INPUTS, ForecastNetwork, Objective, middle
from ._forecast_settings import ForecastSettings
from ._forecast_training import TrainedNetwork, train_network
from ._histories import Histories
from ._lag_regression import LagRegression, Origins, fit_lag_regression, refitted


class FittedForecast(NamedTuple):
    """The model, and the training of its network: step of the best weights, losses."""

    model: ForecastModel
    steps: int
    history: list[dict[str, float]]


def fit_forecast(settings: ForecastSettings, histories: Histories) -> FittedForecast:
    """Fit to histories; all choices are made on the last part of each."""
    horizon, ends = settings.horizon, histories.lengths
    time = int(ends.max())
    given = histories.covariates
    if given.shape[2] and given.shape[1] < time:
        raise UserError(f"must have at least {time} steps, as y has", argument="X")
    covariates = learn_scale(given[:, :time])
    histories = histories._replace(covariates=covariates.applied(given, time))
    training = settings.training_lengths(ends)
    lags = settings.lags(training)
    prepared = prepare(histories, lags, training)
    first = np.full_like(training, min(lags, int(training.min()) - horizon))
    validation = all_origins(prepared, training, ends, horizon)
    if not any(one.known.any() for one in validation):
        raise UserError(
            f"has no values in the last {int((ends - training).max())} steps of its series, by "
            "which a forecast is chosen: shorten them or raise validation_fraction",
            argument="y",
        )
    linear, error = fit_lag_regression(
        all_origins(prepared, first, training, horizon), validation, settings.season
    )
    quantiles, pinball = _error_quantiles(linear, validation, settings.levels)
    objective = Objective(
        jnp.asarray(quantiles, jnp.float32),
        jnp.asarray(settings.levels, jnp.float32),
        middle(settings.levels),
        jnp.asarray(max(error, 1e-12), jnp.float32),
        jnp.asarray(max(pinball, 1e-12), jnp.float32),
    )
    network = new_network(settings, lags, covariates.size, jax.random.key(settings.seed))
    trained = _trained(settings, network, prepared, linear, training, objective)
    if settings.refit:
        linear = refitted(linear, all_origins(prepared, first, ends, horizon))
    model = ForecastModel(
        linear, quantiles, settings.levels, covariates, trained.network, trained.share
    )
    return FittedForecast(model, trained.step, trained.history)


def new_network(
    settings: ForecastSettings, lags: int, covariates: int, key: PRNGKeyArray
) -> ForecastNetwork:
    """A network with new weights, which corrects nothing yet."""
    return ForecastNetwork(
        VALUE_INPUTS + covariates,
        settings.horizon,
        len(settings.levels),
        width=settings.width,
        depth=settings.depth,
        order=settings.order,
        length=lags,
        period=settings.periods,
        dropout=settings.dropout,
        key=key,
    )


def _error_quantiles(
    linear: LagRegression, validation: list[Origins], levels: tuple[float, ...]
) -> tuple[Float[np.ndarray, "horizon levels"], float]:
    """Quantiles of the errors of the linear part, and their mean pinball loss.

    Errors are those at known values, after a past that varies: a constant one has no unit. The
    quantiles of a step without any are interpolated between those of other steps.
    """
    errors = np.concatenate(
        [one.future - linear.forecast(one.past, one.changes) for one in validation]
    )
    weight = np.concatenate([one.weight for one in validation])
    used = np.concatenate(
        [one.known & (np.ptp(one.past, axis=1) > 0)[:, None] for one in validation]
    )
    quantiles, total = np.zeros((errors.shape[1], len(levels))), 0.0
    there = np.nonzero(used.any(axis=0))[0]
    for step in there:  # one at a time: there may be 10⁸ errors
        rows = used[:, step]
        quantiles[step] = np.quantile(errors[rows, step], levels)
        loss = pinball_loss(errors[rows, step], quantiles[step], levels).mean(axis=1)
        total += float((loss * weight[rows]).sum())
    if len(there):
        for column in quantiles.T:
            column[:] = np.interp(np.arange(len(column)), there, column[there])
    return quantiles, total / max(int(used.sum()), 1)


def _trained(
    settings: ForecastSettings,
    network: ForecastNetwork,
    prepared: PreparedHistories,
    linear: LagRegression,
    training: np.ndarray,
    objective: Objective,
) -> TrainedNetwork:
    """The trained network; the one given where there is nothing to train or to validate with."""
    horizon, ends = settings.horizon, prepared.histories.lengths
    length = min(SEGMENT, int(training.min()) - horizon)
    held = segments(prepared, linear, training, ends, length, horizon)
    if settings.max_steps == 0 or not len(held.ends):
        return TrainedNetwork(network, 0, 1.0, [])
    return train_network(
        network,
        segments(prepared, linear, np.zeros_like(training), training, length, horizon),
        held,
        objective,
        lr=settings.lr,
        steps=settings.max_steps,
        seed=settings.seed,
        verbose=settings.verbose,
    )
