"""What transformers of time series share: reading cases, scaling, and scikit-learn's interface."""

import abc
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._errors import UserError
from ._cases import read_cases
from ._preparation import CaseInputs, Preparation, learn_preparation
from ._series_input import TakesSeries


class SeriesFeatures(TransformerMixin, TakesSeries):
    """Base class of transformers of cases to features."""

    _preparation: Preparation

    def fit(self, X: Any, y: Any = None, times: Any = None) -> "SeriesFeatures":
        """Learn the scales of the channels. Arguments: see `FractalClassifier.fit`."""
        self._check_settings()
        cases = read_cases(X, times, estimator=self)
        self._preparation = learn_preparation(cases)
        self._learn(self._preparation.apply(cases), cases.channels)
        self.n_channels_ = cases.channels
        self.n_features_in_ = int(cases.lengths.max())
        return self

    def fit_transform(
        self, X: Any, y: Any = None, **fit_params: Any
    ) -> Float[np.ndarray, "cases features"]:
        """`fit`, then `transform`, both with the same `times` if they are given."""
        return self.fit(X, y, **fit_params).transform(X, **fit_params)

    def transform(self, X: Any, times: Any = None) -> Float[np.ndarray, "cases features"]:
        """The features of each series. Arguments: see `FractalClassifier.fit`."""
        cases = self._read(X, times)
        self._check_settings()
        return self._transformed(self._preparation.apply(cases))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the features."""
        check_is_fitted(self)
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise UserError(
                "input_features should have length equal to the number of steps in fit, "
                f"{self.n_features_in_}, got {len(input_features)}"
            )
        return np.array(self._names(), dtype=object)

    @abc.abstractmethod
    def _check_settings(self) -> None:
        """Raise `UserError` for an invalid setting."""

    @abc.abstractmethod
    def _learn(self, series: list[CaseInputs], channels: int) -> None:
        """Learn more than scales from the training set."""

    @abc.abstractmethod
    def _transformed(self, series: list[CaseInputs]) -> Float[np.ndarray, "cases features"]:
        """The features of cases."""

    @abc.abstractmethod
    def _names(self) -> list[str]:
        """Names of the features."""

    def __sklearn_is_fitted__(self) -> bool:
        return "n_channels_" in vars(self)
