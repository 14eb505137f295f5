"""A fitted forecast: the linear part, the quantiles of its errors, and the network's correction."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ._covariates import CovariateScale
from ._filling import forward_filled
from ._forecast_data import PreparedHistories, network_inputs, prepare
from ._forecast_network import (
    ForecastNetwork,
    advance,
    corrected_quantiles,
    initial_states,
    middle,
)
from ._histories import Histories, local_scale
from ._lag_regression import LagRegression


class CarriedState(NamedTuple):
    """The past of each row, as far as forecasts depend on it: last values, states, covariates."""

    recent: Float[np.ndarray, "rows lags"]
    states: Any
    features: Float[np.ndarray, "rows width"]
    covariates: Float[np.ndarray, "rows covariates"]


class ForecastModel(NamedTuple):
    """What `fit` learns; the state of a series is a `CarriedState`.

    - `error_quantiles`: of the errors of the linear part, in units of the local deviation.
    - `levels`: of these quantiles.
    - `share`: of the network's correction of the mean, which is best on the validation part.
    """

    linear: LagRegression
    error_quantiles: Float[np.ndarray, "horizon levels"]
    levels: tuple[float, ...]
    covariates: CovariateScale
    network: ForecastNetwork
    share: float

    @property
    def horizon(self) -> int:
        """Number of steps to forecast."""
        return len(self.error_quantiles)

    @property
    def lags(self) -> int:
        """Number of last values that the linear part reads."""
        return len(self.linear.weights)

    def prepared(self, histories: Histories, ahead: int = 0) -> PreparedHistories:
        """Whole histories, with covariates for `ahead` later steps."""
        steps = histories.values.shape[1] + ahead
        scaled = self.covariates.applied(histories.covariates, steps)
        return prepare(histories._replace(covariates=scaled), self.lags, histories.lengths)

    def continued(self, state: CarriedState, histories: Histories) -> PreparedHistories:
        """Histories that follow the steps of a state."""
        given = np.where(histories.observed, histories.values, np.nan)
        values = forward_filled(given.T, state.recent[:, -1]).T
        covariates = self.covariates.applied(histories.covariates, values.shape[1])
        histories = histories._replace(values=values, covariates=covariates)
        padded = np.concatenate([state.recent, values], axis=1)
        inputs, scale = network_inputs(padded, histories.observed, covariates, self.lags)
        return PreparedHistories(histories, padded, scale, inputs, np.ones(len(padded)))

    def start(self, prepared: PreparedHistories) -> CarriedState:
        """The state before the first step."""
        first = prepared.histories.values[:, :1]
        return CarriedState(
            np.repeat(first, self.lags, axis=1),
            initial_states(self.network, len(first)),
            np.zeros((len(first), self.network.width), np.float32),
            np.zeros((len(first), self.covariates.size)),
        )

    def features(self, prepared: PreparedHistories) -> Float[np.ndarray, "rows time width"]:
        """Features of the network after each step of whole histories."""
        states, lengths = self.start(prepared).states, prepared.histories.lengths
        parts = advance(self.network, prepared.inputs, states, lengths)
        return np.concatenate([features for features, _ in parts], axis=1)

    def read(self, state: CarriedState, prepared: PreparedHistories) -> CarriedState:
        """The state after all steps."""
        lengths = prepared.histories.lengths
        rows, start = np.arange(len(lengths)), 0
        states, last = state.states, state.features.copy()
        for features, after in advance(self.network, prepared.inputs, states, lengths):
            place = lengths - 1 - start
            here = (place >= 0) & (place < features.shape[1])
            last[here] = features[here, place[here]]
            start, states = start + features.shape[1], after
        recent = prepared.padded[rows[:, None], lengths[:, None] + np.arange(self.lags)]
        covariates = np.zeros((len(rows), 0))
        if self.covariates.size:
            covariates = prepared.histories.covariates[rows, lengths - 1]
        return CarriedState(recent, states, last, covariates)

    def ahead(
        self, state: CarriedState, covariates: Float[np.ndarray, "rows longer covariates"]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points and quantiles of the steps after a state, whose scaled covariates are known."""
        scale = _deviation(state.recent)
        changes = np.zeros((len(scale), self.horizon, self.covariates.size))
        if self.covariates.size:
            changes = covariates[:, : self.horizon] - state.covariates[:, None]
        return self.combined(state.recent / scale[:, None], changes, scale, state.features)

    def combined(
        self,
        past: Float[np.ndarray, "origins lags"],
        changes: Float[np.ndarray, "origins horizon covariates"],
        scale: Float[np.ndarray, " origins"],
        features: Float[np.ndarray, "origins width"],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Points (origins, horizon) and quantiles (origins, horizon, levels) in data units.

        **Arguments:**

        - `past`: the last values in units of their deviation, `scale`.
        - `changes`: of the covariates from the origin to each later step.
        - `features`: of the network at the origin.
        """
        linear = self.linear.forecast(past, changes)
        found = np.asarray(self.network.corrections(jnp.asarray(features)), np.float64)
        quantiles = corrected_quantiles(
            found[..., 1:], self.error_quantiles, middle(self.levels), np
        )
        # A constant past has no unit in which errors could be expressed: it is continued.
        unit = np.where(np.ptp(past, axis=1) > 0, scale, 0.0)[:, None]
        level = linear * scale[:, None]
        points = level + self.share * found[..., 0] * unit
        return points, level[..., None] + quantiles * unit[..., None]


def _deviation(recent: Float[np.ndarray, "rows lags"]) -> Float[np.ndarray, " rows"]:
    padded = np.concatenate([recent[:, :1], recent], axis=1)
    spread = local_scale(padded, recent.shape[1])[1, :, -1]
    return np.where(spread > 0, spread, 1.0)
