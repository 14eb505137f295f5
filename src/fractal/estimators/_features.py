"""Features of time series without training: coefficients of `OnlineMemory`."""

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import check_alpha, check_flag, check_order
from .._errors import UserError
from .._memory import OnlineMemory
from ..theory import LARGEST_ALPHA
from ._cases import CaseSet, check_channels, read_cases
from ._preparation import Preparation, learn_preparation


class MemoryFeatures(TransformerMixin, BaseEstimator):
    """Coefficients of the memory of each series, for any pipeline of scikit-learn.

    The features of a series are the coefficients of `OnlineMemory` after its last sample, for
    every α and order, of the series and of its differences. They do not depend on the sampling rate
    beyond its effect on the signal, nor on the length.

    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from fractal.estimators import MemoryFeatures
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = [np.cumsum(rng.normal(label / 2, 1, rng.integers(50, 80))) for label in y]
    >>> model = make_pipeline(MemoryFeatures(orders=(4,)), RidgeClassifier()).fit(X, y)
    >>> model.score(X, y) > 0.9
    True

    **Attributes** after `fit`: `n_channels_`; `n_features_in_`, the largest number of steps.
    """

    def __init__(self, *, alphas=(0.0, 0.5, 0.9), orders=(16,), differences=True):
        """
        **Arguments:**

        - `alphas`: singularity indices in [0, 0.95].
        - `orders`: numbers of polynomials, even.
        - `differences`: whether to add the memory of the slopes between consecutive samples.
        """
        self.alphas = alphas
        self.orders = orders
        self.differences = differences

    def fit(self, X: Any, y: Any = None, times: Any = None) -> "MemoryFeatures":
        """Learn the scales of the channels. Arguments: see `FractalClassifier.fit`."""
        self._settings()
        cases = read_cases(X, times, estimator=self)
        self._preparation = learn_preparation(cases)
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
        check_is_fitted(self)
        alphas, orders = self._settings()
        cases = read_cases(X, times, estimator=self)
        check_channels(cases, self.n_channels_, self)
        signals = [_signals(*one, self.differences) for one in _scaled(cases, self._preparation)]
        features = np.empty((len(cases), len(self.get_feature_names_out())))
        # One memory holds the channels of all series of one length and one set of times.
        for rows in _alike([(len(signal), ends) for signal, ends in signals]):
            block = np.concatenate([signals[row][0] for row in rows], axis=1)
            found = []
            for alpha in alphas:
                for order in orders:
                    memory = OnlineMemory(alpha, order, channels=block.shape[1])
                    memory.push(block, signals[rows[0]][1])
                    found.append(memory.coefficients.reshape(len(rows), -1))
            features[rows] = np.concatenate(found, axis=1)
        return features

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as `channel0_alpha0.5_order16_3`, and `difference0_…`."""
        check_is_fitted(self)
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise UserError(
                "input_features should have length equal to the number of steps in fit, "
                f"{self.n_features_in_}, got {len(input_features)}"
            )
        alphas, orders = self._settings()
        kinds = ("channel", "difference") if self.differences else ("channel",)
        return np.array(
            [
                f"{kind}{channel}_alpha{alpha:g}_order{order}_{k}"
                for alpha in alphas
                for order in orders
                for kind in kinds
                for channel in range(self.n_channels_)
                for k in range(order)
            ],
            dtype=object,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "n_channels_" in vars(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    def _settings(self) -> tuple[list[float], list[int]]:
        """The validated settings."""
        check_flag("differences", self.differences)
        for name in ("alphas", "orders"):
            if not isinstance(getattr(self, name), list | tuple) or not getattr(self, name):
                raise UserError("must be a list of at least one number", argument=name)
        return (
            [check_alpha(alpha, largest=LARGEST_ALPHA) for alpha in self.alphas],
            [check_order(order) for order in self.orders],
        )


def _scaled(cases: CaseSet, preparation: Preparation) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Filled and scaled values (time, channels) of each case, with the ends of its samples."""
    channels = cases.channels
    return [
        (
            one.values[:, :channels].astype(np.float64),
            None if one.dt is None else np.cumsum(one.dt.astype(np.float64)),
        )
        for one in preparation.apply(cases)
    ]


def _signals(
    values: np.ndarray, ends: np.ndarray | None, differences: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """The values, and their slopes if asked for, as one block (time, signals)."""
    if not differences:
        return values, ends
    steps = np.ones(len(values)) if ends is None else np.diff(ends, prepend=0.0)
    slopes = np.diff(values, axis=0, prepend=values[:1]) / steps[:, None]
    return np.concatenate([values, slopes], axis=1), ends


def _alike(keys: list[tuple[int, np.ndarray | None]]) -> list[list[int]]:
    """Rows with equal lengths and times."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    for row, (length, ends) in enumerate(keys):
        groups.setdefault((length, b"" if ends is None else ends.tobytes()), []).append(row)
    return list(groups.values())
