"""Other speeds of a recording, measured on tones of known frequency."""

import numpy as np
import pytest

from experiments import speeds

RATE = 8000


def tone(hertz, seconds=0.5):
    return np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)


def pitch(samples):
    inner = samples[len(samples) // 5 : -len(samples) // 5]
    power = np.abs(np.fft.rfft(inner * np.hanning(len(inner)), 1 << 16))
    return power.argmax() * RATE / (1 << 16)


@pytest.mark.parametrize("speed", [0.5, 0.71, 1.0, 1.41, 2.0])
def test_a_stretched_tone_lasts_longer_and_keeps_its_pitch_and_level(speed):
    changed = speeds.stretched(tone(220), speed, RATE)
    assert len(changed) == round(4000 / speed)
    assert pitch(changed) == pytest.approx(220, rel=0.02)
    inner = changed[len(changed) // 5 : -len(changed) // 5]
    assert np.sqrt(np.mean(inner**2)) == pytest.approx(np.sqrt(0.5), rel=0.1)


def test_at_its_own_speed_a_recording_stays_as_it_is(rng):
    samples = np.cumsum(rng.normal(size=3000))
    np.testing.assert_allclose(speeds.stretched(samples, 1.0, RATE), samples, atol=1e-9)


def test_a_stretched_recording_keeps_the_order_of_its_parts():
    samples = np.concatenate([tone(200), tone(500)])
    changed = speeds.stretched(samples, 2.0, RATE)
    half = len(changed) // 2
    assert pitch(changed[:half]) == pytest.approx(200, rel=0.03)
    assert pitch(changed[half:]) == pytest.approx(500, rel=0.03)


@pytest.mark.parametrize(("up", "down"), [(2, 1), (1, 2), (5, 7)])
def test_a_resampled_tone_has_another_pitch_at_the_same_rate(up, down):
    changed = speeds.resampled(tone(220), up, down)
    assert len(changed) == -(-4000 * up // down)
    assert pitch(changed) == pytest.approx(220 * down / up, rel=0.01)


def test_a_pause_is_silent_or_has_noise_of_the_given_level():
    samples = tone(220)
    silent = speeds.after(samples, 0.25, RATE, 0.0, seed=0)
    noisy = speeds.after(samples, 0.25, RATE, 0.3, seed=0)
    assert len(silent) == len(noisy) == 6000
    assert not silent[:2000].any()
    assert noisy[:2000].std() == pytest.approx(0.3, rel=0.1)
    np.testing.assert_array_equal(silent[2000:], samples)
    np.testing.assert_array_equal(noisy[2000:], samples)
