"""The conditions of the experiment on spoken digits, and its classical features."""

import numpy as np
import pytest
import scipy.io.wavfile

from experiments import speech
from fractal.tasks import DataError
from fractal.tasks.speech import Recording


@pytest.fixture
def recording(rng):
    tone = np.sin(2 * np.pi * 300 * np.arange(4000) / 8000)
    return Recording(3, "ann", 0, 8000, tone.astype(np.float32))


def test_a_recording_has_as_many_samples_as_its_speed_and_its_pause_say(recording):
    found = {name: len(way(recording)) for name, way in speech.conditions(2000).items()}
    assert found["trained"] == 1000
    assert (found["speed 0.5"], found["speed 2"], found["speed 4"]) == (2000, 500, 250)
    assert (found["tempo 0.5"], found["tempo 2"]) == (2000, 500)
    assert (found["silence 0.25 s"], found["noise 1 s"]) == (1500, 3000)
    assert (found["first 25%"], found["first 75%"]) == (250, 750)


def test_another_tempo_keeps_the_pitch_and_another_speed_does_not(recording):
    def pitch(samples):
        return np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 8000)).argmax() / 4

    ways = speech.conditions(2000)
    assert pitch(ways["tempo 2"](recording)) == pytest.approx(300, rel=0.05)
    assert pitch(ways["speed 2"](recording)) == pytest.approx(600, rel=0.05)


def test_recordings_of_the_same_length_do_not_depend_on_the_speed(recording):
    ways = speech.conditions(8000)
    slow, plain = (speech._same_length(ways[name](recording)) for name in ("speed 0.5", "trained"))
    assert len(slow) == len(plain) == 1000
    np.testing.assert_allclose(slow[50:-50], plain[50:-50], atol=0.05)


def test_the_loudest_mel_band_is_that_of_the_tone(recording):
    features = speech.log_mel(recording.samples, 8000)
    assert features.shape == (20, 16)
    weights = speech._mel_bands(256, 8000)
    hertz = np.fft.rfftfreq(256, 1 / 8000)
    centers = hertz[weights.argmax(axis=1)]
    assert abs(centers[features[10].argmax()] - 300) == np.abs(centers - 300).min()


def test_all_digits_of_the_last_speaker_are_held_out(tmp_path, monkeypatch, rng):
    for digit in range(10):
        for speaker in ("ann", "zoe"):
            for index in range(8):
                time = np.arange(rng.integers(2000, 4000)) / 8000
                tone = 9000 * np.sin(2 * np.pi * (150 + 80 * digit) * time)
                name = f"{digit}_{speaker}_{index}.wav"
                scipy.io.wavfile.write(tmp_path / name, 8000, tone.astype(np.int16))
    monkeypatch.setenv("FRACTAL_SPEECH", str(tmp_path))
    speech.recordings.cache_clear()
    found = speech.measure("log-mel, logistic regression", 2000, "speakers", 0)
    speech.recordings.cache_clear()
    assert found["accuracy"]["trained"] == found["accuracy"]["tempo 2"] == 1.0
    assert found["accuracy"]["speed 2"] < 0.7  # another pitch is another digit here


def test_without_the_folder_the_experiment_says_how_to_name_it(monkeypatch):
    monkeypatch.delenv("FRACTAL_SPEECH", raising=False)
    speech.recordings.cache_clear()
    with pytest.raises(DataError, match="set FRACTAL_SPEECH to the folder"):
        speech.recordings()
