"""Classification of time series by random filters."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from .._checks import check_positive
from .._errors import UserError
from ._calibration import probabilities
from ._cases import read_cases
from ._filter_base import FilterBankEstimator
from ._filter_file import load_filters, save_filters
from ._saved import decode_labels, encode_labels
from ._targets import labels_of
from ._unchanged import unchanged_on_error

_TEMPERATURES = np.exp(np.linspace(np.log(0.02), np.log(5.0), 89))


class FilterBankClassifier(ClassifierMixin, FilterBankEstimator):
    """Classifier of time series by a ridge regression on `FilterBankFeatures`.

    The best choice for up to some thousand cases: it is fitted in seconds. Series may have unequal
    lengths, missing values and irregular times. Probabilities are calibrated on the outputs for
    each training case of the regression on all others.

    >>> import numpy as np
    >>> from fractal.estimators import FilterBankClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["slow", "fast"] * 20)
    >>> X = [np.sin((0.2 if name == "slow" else 0.3) * np.arange(rng.integers(50, 80)))
    ...      for name in y]  # series of unequal lengths
    >>> model = FilterBankClassifier(100, random_state=0).fit(X, y)
    >>> model.predict(X[:2]).tolist()
    ['slow', 'fast']

    **Attributes** after `fit`: `classes_`; `features_`, the `FilterBankFeatures`; `weights_`,
    `intercept_`, `penalty_`, of the regression; `temperature_`, which divides its outputs;
    `n_channels_`; `n_features_in_`, the largest number of steps.
    """

    def fit(self, X: Any, y: Any, times: Any = None) -> "FilterBankClassifier":
        """Draw filters and fit the regression. Arguments: see `FractalClassifier.fit`."""
        cases = read_cases(X, times, estimator=self)
        labels = labels_of(y, cases)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise UserError(
                f"must contain cases of at least two classes, got {len(cases)} of one class: "
                f"{classes.tolist()[0]!r:.40}",
                argument="y",
            )
        with unchanged_on_error(self):
            ridge = self._fit_cases(cases, 2.0 * np.eye(len(classes))[codes] - 1.0)
            self.classes_ = classes
            self.temperature_ = ridge_temperature(ridge.left_out, codes)
        return self

    def predict(self, X: Any, times: Any = None) -> np.ndarray:
        """The most probable class of each case. Arguments: see `fit`."""
        found = self._outputs(X, times).argmax(axis=1)
        return self.classes_[found]

    def predict_proba(self, X: Any, times: Any = None) -> Float[np.ndarray, "cases classes"]:
        """The probability of each class, in the order of `classes_`. Arguments: see `fit`."""
        return probabilities(self._outputs(X, times), self.temperature_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> float:
        """The accuracy of `predict`. Arguments: see `fit`."""
        cases = self._read(X, times)
        labels = labels_of(y, cases)
        return float(accuracy_score(labels, self.predict(cases), sample_weight=sample_weight))

    def save(self, path: Any) -> None:
        """Write the fitted classifier to one safetensors file."""
        save_filters(path, self)

    @classmethod
    def load(cls, path: Any) -> "FilterBankClassifier":
        """Read a classifier written by `save`. Loading does not execute code from the file."""
        return load_filters(path, cls)

    def _fitted(self) -> dict[str, Any]:
        return {"classes": encode_labels(self.classes_), "temperature": self.temperature_}

    def _restore(self, fitted: dict[str, Any]) -> None:
        self.classes_ = decode_labels(fitted["classes"])
        self.temperature_ = check_positive("temperature", fitted["temperature"])
        if self.classes_.shape != self.intercept_.shape:
            raise ValueError("its classes do not fit the regression")


def ridge_temperature(
    left_out: Float[np.ndarray, "cases classes"], codes: Int[np.ndarray, " cases"]
) -> float:
    """The temperature with the smallest cross-entropy on outputs for cases that were left out.

    A case belongs to its class with probability (n + 1)/(n + 2), for n cases (Platt, 1999): the
    temperature is positive even if no case is wrong.
    """
    cases, classes = left_out.shape
    targets = np.full(left_out.shape, 1 / (cases + 2) / (classes - 1))
    targets[np.arange(cases), codes] = (cases + 1) / (cases + 2)
    costs = [-(targets * np.log(probabilities(left_out, t) + 1e-300)).sum() for t in _TEMPERATURES]
    return float(_TEMPERATURES[int(np.argmin(costs))])
