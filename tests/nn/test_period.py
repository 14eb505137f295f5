"""Resonances: initial step sizes for data with a known period."""

import jax
import numpy as np
import pytest

from fractal.nn import FractalSSM


def rotations(**options):
    """Rotation per step of each mode, as the angle of its gate, in turns per step."""
    ssm = FractalSSM(4, key=jax.random.key(0), **options)
    _, frequency, _ = ssm.bank()
    return np.asarray(frequency * np.exp(ssm.log_dt), float) / (2 * np.pi)


@pytest.mark.parametrize("options", [{}, {"learn_alpha": True}, {"init": "published", "order": 8}])
def test_every_mode_rotates_by_a_multiple_of_the_fundamental_or_slower_than_half_of_it(options):
    harmonics = rotations(period=32, length=1024, **options) * 32
    rounded = harmonics[harmonics > 0.5]
    assert len(rounded) > len(harmonics) / 2
    np.testing.assert_allclose(rounded, np.round(rounded), rtol=1e-5)
    # Modes stay where they were drawn, up to half of the fundamental.
    drawn = rotations(length=1024, **options) * 32
    assert (np.abs(harmonics - drawn) <= 0.5 + 1e-4).all()


def test_modes_take_several_periods_in_turns():
    turns = rotations(period=[24, 168], length=1024)
    for first, period in enumerate((24, 168)):
        harmonics = turns[first::2] * period
        harmonics = harmonics[harmonics > 0.5]
        np.testing.assert_allclose(harmonics, np.round(harmonics), rtol=1e-5)


def test_a_resonant_mode_accumulates_a_signal_of_its_period():
    period, length = 32, 1024
    ssm = FractalSSM(1, period=period, length=length, alphas=0.9, key=jax.random.key(0))
    decay, frequency, _ = ssm.bank()
    dt = np.exp(ssm.log_dt)
    harmonics = np.asarray(frequency * dt) * period / (2 * np.pi)
    chosen = int(np.argmin(np.where(harmonics > 0.5, decay * dt, np.inf)))
    cycles = np.round(harmonics[chosen]) / period
    t = np.arange(length)[:, None]
    size = {}
    for name, shift in (("resonant", 0.0), ("between", 0.5 / period)):
        _, state = ssm(np.cos(2 * np.pi * (cycles + shift) * t).astype(np.float32))
        size[name] = abs(state.modes[chosen])
    assert size["resonant"] > 5 * size["between"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period": 1}, "period must be at least 2 steps"),
        ({"period": []}, "period must be at least 2 steps"),
        ({"period": [24, float("nan")]}, "period"),
        ({"period": 32, "clock": "scale-invariant"}, "period needs clock='uniform'"),
        ({"period": 32, "discretization": "bilinear"}, "period needs discretization='zoh'"),
        ({"period": 32, "init": "fractional"}, "period needs init='normal'"),
        ({"period": 32, "rate": "path"}, "cannot be combined with rate='path'"),
    ],
)
def test_an_invalid_period_is_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        FractalSSM(4, key=jax.random.key(0), **options)
