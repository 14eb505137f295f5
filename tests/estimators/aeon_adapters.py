"""aeon's interface to classifiers and regressors, as thin as it can be."""

from aeon.classification import BaseClassifier
from aeon.regression import BaseRegressor

from fractal.estimators import (
    FilterBankClassifier,
    FilterBankRegressor,
    FractalClassifier,
    FractalRegressor,
)

SMALL = {"width": 2, "depth": 1, "order": 2, "max_epochs": 1}
FEW = {"n_filters": 8, "orders": (2,)}
TAGS = {
    "capability:multivariate": True,
    "capability:unequal_length": True,
    "capability:missing_values": True,
    "X_inner_type": ["np-list", "numpy3D"],
}


class AeonClassifier(BaseClassifier):
    """A `FractalClassifier` as a classifier of aeon."""

    made, settings = FractalClassifier, SMALL

    _tags = TAGS

    def __init__(self, random_state=None):
        self.random_state = random_state
        super().__init__()

    def _fit(self, X, y):
        self.fitted_ = self.made(**self.settings, random_state=self.random_state).fit(X, y)
        return self

    def _predict(self, X):
        return self.fitted_.predict(X)

    def _predict_proba(self, X):
        return self.fitted_.predict_proba(X)


class AeonRegressor(BaseRegressor):
    """A `FractalRegressor` as a regressor of aeon."""

    made, settings = FractalRegressor, SMALL

    _tags = TAGS

    def __init__(self, random_state=None):
        self.random_state = random_state
        super().__init__()

    def _fit(self, X, y):
        self.fitted_ = self.made(**self.settings, random_state=self.random_state).fit(X, y)
        return self

    def _predict(self, X):
        return self.fitted_.predict(X)


class AeonFilterClassifier(AeonClassifier):
    """A `FilterBankClassifier` as a classifier of aeon."""

    made, settings = FilterBankClassifier, FEW


class AeonFilterRegressor(AeonRegressor):
    """A `FilterBankRegressor` as a regressor of aeon."""

    made, settings = FilterBankRegressor, FEW
