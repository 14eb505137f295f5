"""Ridge regression on standardized features, with a prediction for each case by all others."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from .._bounds import check_memory

_PENALTIES = np.logspace(-3, 3, 10)
_FLOAT = 8  # bytes
_BYTES = 40  # per feature of each case: standardized, centered, and decomposed


class Ridge(NamedTuple):
    """Predictions are features @ weights + intercept.

    - `penalty`: the one of `_PENALTIES` with the smallest error of `left_out`.
    - `left_out`: the prediction for each case of the fit to all other cases.
    """

    weights: Float[np.ndarray, "features outputs"]
    intercept: Float[np.ndarray, " outputs"]
    penalty: float
    left_out: Float[np.ndarray, "cases outputs"]


def fit_ridge(
    features: Float[np.ndarray, "cases features"], targets: Float[np.ndarray, "cases outputs"]
) -> Ridge:
    """The fit with the smallest leave-one-out error, the same penalty for all outputs."""
    cases, count = features.shape
    check_memory(
        float(_BYTES) * cases * count
        + 4 * _FLOAT * min(cases, count) ** 2
        + (len(_PENALTIES) + 4.0) * _FLOAT * targets.size,
        f"a ridge regression on {count:,} features of {cases:,} cases",
        advice="fit fewer cases, lower n_filters, or train a network",
    )
    scaler = StandardScaler().fit(features)
    mean, scale = np.asarray(scaler.mean_), np.asarray(scaler.scale_)
    level = targets.mean(axis=0)  # apart: the regression is in the precision of the features
    # With a scorer, the predictions are kept instead of the squared errors. The choice is the same.
    ridge = RidgeCV(_PENALTIES, scoring="neg_mean_squared_error", store_cv_results=True)
    ridge.fit(scaler.transform(features), targets - level)
    penalty = float(np.asarray(ridge.alpha_))
    left_out = np.asarray(ridge.cv_results_).reshape(*targets.shape, len(_PENALTIES))
    weights = (np.asarray(ridge.coef_).reshape(-1, count) / scale).T
    return Ridge(
        weights,
        level + np.reshape(ridge.intercept_, targets.shape[1]) - mean @ weights,
        penalty,
        level + left_out[:, :, int(np.argmin(np.abs(_PENALTIES - penalty)))],
    )
