"""Features of time series without training: coefficients of `OnlineMemory`."""

import numpy as np
from jaxtyping import Float

from .._checks import check_alpha, check_flag, check_order
from .._errors import UserError
from .._memory import OnlineMemory
from ..theory import LARGEST_ALPHA
from ._preparation import CaseInputs
from ._series_features import SeriesFeatures


class MemoryFeatures(SeriesFeatures):
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

    def _learn(self, series: list[CaseInputs], channels: int) -> None:
        """Nothing: the memory has no trained part."""

    def _transformed(self, series: list[CaseInputs]) -> Float[np.ndarray, "cases features"]:
        alphas, orders = self._settings()
        signals = [self._signals(one) for one in series]
        features = np.empty((len(series), len(self._names())))
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

    def _names(self) -> list[str]:
        """Names such as `channel0_alpha0.5_order16_3`, and `difference0_…`."""
        alphas, orders = self._settings()
        kinds = ("channel", "difference") if self.differences else ("channel",)
        return [
            f"{kind}{channel}_alpha{alpha:g}_order{order}_{k}"
            for alpha in alphas
            for order in orders
            for kind in kinds
            for channel in range(self.n_channels_)
            for k in range(order)
        ]

    def _check_settings(self) -> None:
        self._settings()

    def _settings(self) -> tuple[list[float], list[int]]:
        """The validated alphas and orders."""
        check_flag("differences", self.differences)
        for name in ("alphas", "orders"):
            if not isinstance(getattr(self, name), list | tuple) or not getattr(self, name):
                raise UserError("must be a list of at least one number", argument=name)
        return (
            [check_alpha(alpha, largest=LARGEST_ALPHA) for alpha in self.alphas],
            [check_order(order) for order in self.orders],
        )

    def _signals(self, one: CaseInputs) -> tuple[np.ndarray, np.ndarray | None]:
        """Values (time, signals), with slopes if asked for, and the ends of their samples."""
        values = one.values[:, : self.n_channels_].astype(np.float64)
        ends = None if one.dt is None else np.cumsum(one.dt.astype(np.float64))
        if not self.differences:
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
