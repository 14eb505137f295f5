"""What the classifier and the regressor on filter features share: settings, features, ridge."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ._cases import CaseSet
from ._filter_features import FilterBankFeatures
from ._ridge import Ridge, fit_ridge
from ._series_input import TakesSeries


class FilterBankEstimator(TakesSeries):
    """Base class of ridge regressions on `FilterBankFeatures`."""

    def __init__(
        self,
        n_filters=1000,
        *,
        n_thresholds=4,
        alphas=None,
        orders=(4, 8, 16, 32, 64),
        clock="uniform",
        differences=True,
        random_state=None,
    ):
        """**Arguments:** those of `FilterBankFeatures`."""
        self.n_filters = n_filters
        self.n_thresholds = n_thresholds
        self.alphas = alphas
        self.orders = orders
        self.clock = clock
        self.differences = differences
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return "features_" in vars(self)

    def _fit_cases(self, cases: CaseSet, targets: Float[np.ndarray, "cases outputs"]) -> Ridge:
        """Fit features and ridge regression, and set what predictions need."""
        features = FilterBankFeatures(**self.get_params(deep=False)).fit(cases)
        ridge = fit_ridge(features.transform(cases), targets)
        self.features_, self.weights_, self.intercept_ = features, ridge.weights, ridge.intercept
        self.penalty_ = ridge.penalty
        self.n_channels_, self.n_features_in_ = features.n_channels_, features.n_features_in_
        return ridge

    def _outputs(self, X: Any, times: Any) -> Float[np.ndarray, "cases outputs"]:
        """The outputs of the ridge regression for each case."""
        cases = self._read(X, times)
        return self.features_.transform(cases) @ self.weights_ + self.intercept_

    def _fitted(self) -> dict[str, Any]:
        """Fitted values besides features and ridge, as JSON."""
        return {}

    def _restore(self, fitted: dict[str, Any]) -> None:
        """Inverse of `_fitted`, once features and ridge are set."""
