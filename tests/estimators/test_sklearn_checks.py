"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from fractal.estimators import (
    FilterBankClassifier,
    FilterBankFeatures,
    FilterBankRegressor,
    FractalClassifier,
    FractalRegressor,
    MemoryFeatures,
)

# What these checks call samples are series of a few steps: a net of a few parameters suffices.
SMALL = {"width": 2, "depth": 1, "order": 2, "max_epochs": 1, "batch_size": 8, "refit": False}
ANY_LENGTH = "predict takes series of any length: their length is not a number of features"
FEW = {"n_filters": 2, "n_thresholds": 1, "orders": (2,)}
SOME = {"n_filters": 60, "orders": (2,), "random_state": 0}
LEARNS = "needs more epochs than these checks can afford; test_estimators has such a test"
PLACES = "shares of time do not say where in a series something happens"
EXPECTED = {
    "check_n_features_in_after_fitting": ANY_LENGTH,
    "check_estimators_partial_fit_n_features": ANY_LENGTH,
    "check_classifiers_train": f"networks: {LEARNS}; filters: {ANY_LENGTH}",
    "check_regressors_train": f"networks: {LEARNS}; filters: {PLACES}",
    "check_class_weight_classifiers": LEARNS,
    "check_transformer_general": ANY_LENGTH,
}


def checks(*estimators):
    """The checks of scikit-learn; those that are expected to fail must fail."""
    return [
        pytest.param(
            one, check, id=f"{type(one).__name__}-{name_of(check)}", marks=marks_of(one, check)
        )
        for estimator in estimators
        for one, check in estimator_checks_generator(estimator)
    ]


def name_of(check):
    return getattr(check, "func", check).__name__


def marks_of(estimator, check):
    reason = EXPECTED.get(name_of(check))
    if "partial_fit" in name_of(check) and not hasattr(estimator, "partial_fit"):
        reason = None  # the check does nothing
    return [pytest.mark.xfail(reason=reason, strict=True)] if reason else []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "check"),
    checks(
        FractalClassifier(**SMALL),
        MemoryFeatures(orders=(2,)),
        FilterBankFeatures(**FEW),
        FilterBankClassifier(**SOME),
        FilterBankRegressor(**SOME),
    ),
)
def test_a_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), checks(FractalRegressor(**SMALL)))
def test_a_check_of_scikit_learn_passes_for_the_regressor(estimator, check):
    check(estimator)


def test_every_expected_failure_is_a_check_of_scikit_learn():
    names = {
        name_of(check)
        for estimator in (
            FractalClassifier(),
            FractalRegressor(),
            MemoryFeatures(),
            FilterBankFeatures(),
            FilterBankClassifier(),
            FilterBankRegressor(),
        )
        for _, check in estimator_checks_generator(estimator)
    }
    assert set(EXPECTED) <= names
