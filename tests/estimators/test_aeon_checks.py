"""aeon's checks of classifiers and regressors, through thin adapters."""

import numpy as np
import pytest

# aeon is imported by the tests themselves: it takes seconds.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(
    "name", ["AeonClassifier", "AeonRegressor", "AeonFilterClassifier", "AeonFilterRegressor"]
)
def test_the_checks_of_aeon_pass(name):
    from aeon.testing.estimator_checking import check_estimator

    from . import aeon_adapters

    results = check_estimator(getattr(aeon_adapters, name)(), verbose=False)
    assert results
    assert not {name: found for name, found in results.items() if found.startswith("FAILED")}


def test_aeon_takes_series_of_unequal_length_with_missing_values(rng):
    from .aeon_adapters import AeonClassifier

    X = [rng.normal(size=(2, length)) for length in (9, 12, 15, 11, 14, 10, 13, 16)]
    X[3][0, 4] = np.nan
    model = AeonClassifier(random_state=0).fit(X, np.array(list("abababab")))
    assert model.predict_proba(X).shape == (8, 2)
