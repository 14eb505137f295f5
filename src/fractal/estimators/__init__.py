"""Estimators for your own time series, with the interface of scikit-learn."""

# ruff: noqa: E402 - the check of the extra comes before the imports that need it.

from .._extras import require as _require

_require("estimators", "sklearn", "optax")

from ._calibration import Reliability as Reliability
from ._calibration import reliability as reliability
from ._classifier import FractalClassifier as FractalClassifier
from ._classifier import StreamPrediction as StreamPrediction
from ._filter_classifier import FilterBankClassifier as FilterBankClassifier
from ._filter_features import FilterBankFeatures as FilterBankFeatures
from ._filter_regressor import FilterBankRegressor as FilterBankRegressor
from ._forecaster import FractalForecaster as FractalForecaster
from ._memory_features import MemoryFeatures as MemoryFeatures
from ._regressor import FractalRegressor as FractalRegressor
from ._stream import Stream as Stream
