"""Regression of numbers on time series."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from .._checks import check_flag, check_real
from .._errors import UserError
from ._base import SeriesEstimator
from ._cases import CaseSet, read_cases
from ._saved import load_estimator, save_estimator
from ._targets import numbers_of, one_per_case
from ._unchanged import unchanged_on_error


class FractalRegressor(RegressorMixin, SeriesEstimator):
    """Regressor of one or more numbers on time series of any lengths, sampling rates and gaps.

    The counterpart of `FractalClassifier`, with the mean squared error of standardized targets as
    loss.

    >>> import numpy as np
    >>> from fractal.estimators import FractalRegressor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(1, 3, 40)
    >>> X = y[:, None] * rng.normal(size=(40, 50))  # the target is the amplitude
    >>> model = FractalRegressor(width=8, depth=1, max_epochs=30, random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (40,)

    **Attributes** after `fit`: `n_channels_`; `n_features_in_`, the largest number of steps;
    `model_`, the `SequenceModel`; `history_`, the losses of each epoch; `best_epoch_`.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, times: Any = None) -> "FractalRegressor":
        """Train on series with targets.

        **Arguments:**

        - `X`, `times`: as for `FractalClassifier.fit`.
        - `y`: targets, finite, (cases,) or (cases, outputs).
        """
        cases, targets = self._read_targets(X, y, times)
        if len(cases) < 2:
            raise UserError(
                f"must contain at least two cases, got {len(cases)} sample", argument="X"
            )
        weights = np.ones(len(cases))
        with unchanged_on_error(self):
            if not (self.warm_start and self.__sklearn_is_fitted__()):
                self._learn_scale(targets)
            scaled = self._scaled(targets)
            self._fit_cases(cases, scaled, weights, None, scaled.shape[1], squared_error)
        return self

    def partial_fit(self, X: Any, y: Any, times: Any = None) -> "FractalRegressor":
        """One pass over further cases, from the present weights, at a constant learning rate.

        Scales and durations are learned in the first call. Arguments: see `fit`.
        """
        cases, targets = self._read_targets(X, y, times)
        with unchanged_on_error(self):
            if not self.__sklearn_is_fitted__():
                self._learn_scale(targets)
            scaled = self._scaled(targets)
            self._partial_fit(cases, scaled, np.ones(len(cases)), scaled.shape[1], squared_error)
        return self

    def predict(self, X: Any, times: Any = None) -> np.ndarray:
        """The prediction for each case, (cases,) or (cases, outputs)."""
        return self._answers(self._outputs(X, times))

    def score(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> float:
        """The coefficient of determination R² of `predict`. Arguments: see `fit`."""
        targets = one_per_case(y, self._read(X, times), columns=True)
        return float(r2_score(targets, self.predict(X, times), sample_weight=sample_weight))

    def predict_stream(self, x: Any, times: Any = None) -> np.ndarray:
        """The prediction after every sample of one series, (time,) or (time, outputs).

        Needs `bidirectional=False`. Arguments: see `FractalClassifier.predict_stream`.
        """
        return self.stream().push(x, times)

    def save(self, path: Any) -> None:
        """Write the fitted regressor to one safetensors file, which `fractal.load` also reads."""
        save_estimator(path, self)

    @classmethod
    def load(cls, path: Any) -> "FractalRegressor":
        """Read a regressor written by `save`. Loading does not execute code from the file."""
        return load_estimator(path, cls)

    def _answers(self, outputs: np.ndarray) -> np.ndarray:
        found = outputs.astype(np.float64) * self._target_scale + self._target_mean
        return found[:, 0] if self._flat else found

    def _fitted(self) -> dict[str, Any]:
        mean, scale = self._target_mean.tolist(), self._target_scale.tolist()
        return super()._fitted() | {"mean": mean, "scale": scale, "flat": self._flat}

    def _restore(self, fitted: dict[str, Any], outputs: int) -> None:
        super()._restore(fitted, outputs)
        self._target_mean, self._target_scale = (
            check_real(name, fitted[name]) for name in ("mean", "scale")
        )
        self._flat = check_flag("flat", fitted["flat"])
        if not self._target_mean.shape == self._target_scale.shape == (outputs,):
            raise ValueError("its targets do not fit the model")

    def _read_targets(self, X: Any, y: Any, times: Any) -> tuple[CaseSet, np.ndarray]:
        cases = read_cases(X, times, estimator=self)
        return cases, numbers_of(y, cases, self)

    def _learn_scale(self, targets: np.ndarray) -> None:
        self._flat = targets.ndim == 1
        columns = targets.reshape(len(targets), -1)
        deviation = columns.std(axis=0)
        self._target_mean = columns.mean(axis=0)
        self._target_scale = np.where(deviation > 0, deviation, 1.0)

    def _scaled(self, targets: np.ndarray) -> np.ndarray:
        columns = targets.reshape(len(targets), -1)
        if (targets.ndim == 1) != self._flat or columns.shape[1] != len(self._target_mean):
            raise UserError("must have the number of columns of the last fit", argument="y")
        return ((columns - self._target_mean) / self._target_scale).astype(np.float32)


def squared_error(outputs: Array, targets: Array) -> Array:
    """Mean squared error of each case."""
    return jnp.mean((outputs - targets) ** 2, axis=-1)
