"""Regression of numbers on time series by random filters."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from .._checks import check_flag
from .._errors import UserError
from ._cases import read_cases
from ._filter_base import FilterBankEstimator
from ._filter_file import load_filters, save_filters
from ._targets import numbers_of, one_per_case
from ._unchanged import unchanged_on_error

_ROUNDING = 1e-12  # relative deviation of a target that is constant


class FilterBankRegressor(RegressorMixin, FilterBankEstimator):
    """Regressor of one or more numbers on time series, by a ridge regression on filter features.

    The counterpart of `FilterBankClassifier`.

    >>> import numpy as np
    >>> from fractal.estimators import FilterBankRegressor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(0.2, 0.4, 60)
    >>> X = np.sin(y[:, None] * np.arange(80))  # the target is the frequency
    >>> FilterBankRegressor(100, random_state=0).fit(X[:40], y[:40]).score(X[40:], y[40:]) > 0.9
    True

    **Attributes** after `fit`: `features_`, the `FilterBankFeatures`; `weights_`, `intercept_` and
    `penalty_` of the regression; `n_channels_`; `n_features_in_`, the largest number of steps.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, times: Any = None) -> "FilterBankRegressor":
        """Draw filters and fit the regression. Arguments: see `FractalRegressor.fit`."""
        cases = read_cases(X, times, estimator=self)
        targets = numbers_of(y, cases, self)
        if len(cases) < 2:
            raise UserError(
                f"must contain at least two cases, got {len(cases)} sample", argument="X"
            )
        columns = targets.reshape(len(targets), -1)
        deviation = columns.std(axis=0)
        varies = deviation > _ROUNDING * np.abs(columns).max(axis=0)
        scale = np.where(varies, deviation, 1.0)  # outputs share one penalty
        with unchanged_on_error(self):
            self._fit_cases(cases, columns / scale)
            self.weights_, self.intercept_ = self.weights_ * scale, self.intercept_ * scale
            self._flat = targets.ndim == 1
        return self

    def predict(self, X: Any, times: Any = None) -> np.ndarray:
        """The prediction for each case, (cases,) or (cases, outputs). Arguments: see `fit`."""
        found = self._outputs(X, times)
        return found[:, 0] if self._flat else found

    def score(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> float:
        """The coefficient of determination R² of `predict`. Arguments: see `fit`."""
        cases = self._read(X, times)
        targets = one_per_case(y, cases, columns=True)
        return float(r2_score(targets, self.predict(cases), sample_weight=sample_weight))

    def save(self, path: Any) -> None:
        """Write the fitted regressor to one safetensors file."""
        save_filters(path, self)

    @classmethod
    def load(cls, path: Any) -> "FilterBankRegressor":
        """Read a regressor written by `save`. Loading does not execute code from the file."""
        return load_filters(path, cls)

    def _fitted(self) -> dict[str, Any]:
        return {"flat": self._flat}

    def _restore(self, fitted: dict[str, Any]) -> None:
        self._flat = check_flag("flat", fitted["flat"])
        if self._flat and self.intercept_.shape != (1,):
            raise ValueError("its targets do not fit the regression")
