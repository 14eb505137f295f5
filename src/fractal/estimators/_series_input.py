"""The input of estimators of whole series: what scikit-learn may pass, and what `predict` reads."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._cases import CaseSet, check_channels, read_cases


class TakesSeries(BaseEstimator):
    """Base class of estimators and transformers of cases."""

    n_channels_: int

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    def _read(self, X: Any, times: Any) -> CaseSet:
        """Cases of the channels of `fit`."""
        check_is_fitted(self)
        cases = read_cases(X, times, estimator=self)
        check_channels(cases, self.n_channels_, self)
        return cases
